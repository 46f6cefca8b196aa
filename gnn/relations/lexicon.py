"""Small closed word lists that fact comparison needs; chosen by us, English only."""

from __future__ import annotations

NEGATIONS = frozenset(
    """no not never none nobody nothing neither nor cannot without lack lacks lacked lacking fail fails failed
    n't isn't aren't wasn't weren't don't doesn't didn't won't wouldn't can't couldn't shouldn't hasn't
    haven't
    hadn't unlikely hardly rarely seldom false incorrect untrue absent absence negative refuse refuses refused
    deny denies denied""".split()
)
UP = frozenset(
    """increase increases increased increasing rise rises rose risen rising grow grows grew grown growing gain
    gains higher high more greater larger longer better improve improves improved improving above over
    exceed exceeds exceeded raise raises raised elevate elevated elevates most maximum upper positive expand
    expanded strengthen up faster earlier older win wins won profit benefit beneficial promote promotes
    enhance enhances enhanced activate activates stimulate stimulates worsened superior stronger heavier
    additional surplus accelerated acceleration upward""".split()
)
DOWN = frozenset(
    """decrease decreases decreased decreasing fall falls fell fallen falling shrink shrinks shrank decline
    declines declined declining lower low fewer less smaller shorter worse worsen worsens worsening below
    under
    reduce reduces reduced reducing reduction drop drops dropped diminish diminished least minimum inferior
    negative contract contracted weaken weakened weakens down slower later younger lose loses lost loss losses
    harmful suppress suppresses suppressed inhibit inhibits inhibited block blocks blocked weaker lighter
    deficit slowed deceleration downward cut cuts""".split()
)
_ANTONYM_PAIRS = """increase/decrease increased/decreased increases/decreases increasing/decreasing rise/fall
rose/fell rises/falls higher/lower high/low more/less more/fewer greater/smaller larger/smaller longer/shorter
better/worse improve/worsen improved/worsened improves/worsens above/below over/under before/after
earlier/later first/last older/younger early/late always/never all/none every/no many/few most/least
maximum/minimum upper/lower positive/negative benign/malignant acute/chronic safe/dangerous safe/unsafe
effective/ineffective common/rare likely/unlikely possible/impossible able/unable true/false right/wrong
correct/incorrect include/exclude includes/excludes included/excluded including/excluding accept/reject
accepted/rejected allow/forbid allowed/forbidden allowed/prohibited permit/prohibit cause/prevent
causes/prevents caused/prevented start/stop started/stopped begin/end began/ended begins/ends open/close
opened/closed win/lose won/lost wins/loses gain/loss profit/loss north/south east/west northern/southern
eastern/western northeast/southwest northwest/southeast left/right inside/outside internal/external
inner/outer male/female man/woman men/women boy/girl father/mother son/daughter brother/sister
husband/wife king/queen actor/actress old/new hot/cold warm/cool strong/weak stronger/weaker fast/slow
faster/slower heavy/light rich/poor public/private urban/rural day/night summer/winter spring/autumn
morning/evening import/export imports/exports buy/sell bought/sold asset/liability assets/liabilities
revenue/expense revenues/expenses credit/debit active/inactive present/absent presence/absence
inhibit/promote inhibits/promotes suppress/stimulate activate/inhibit activates/inhibits agonist/antagonist
hypertension/hypotension hyperglycemia/hypoglycemia bacterial/viral dominant/recessive systolic/diastolic
sensitive/resistant sensitivity/resistance superior/inferior anterior/posterior proximal/distal
recommended/discouraged recommended/contraindicated indicated/contraindicated should/should-not
with/without birth/death born/died success/failure succeeded/failed major/minor majority/minority
dependent/independent direct/indirect legal/illegal similar/different same/different agree/disagree
associated/unassociated related/unrelated significant/insignificant significantly/insignificantly
exceeded/missed outperformed/underperformed expanded/contracted strengthened/weakened raised/lowered
raise/lower raises/lowers up/down top/bottom front/back ancient/modern senior/junior visible/invisible
alive/dead guilty/innocent victory/defeat friend/enemy attack/defend add/remove added/removed
ascending/descending arrive/depart arrived/departed joined/left entered/left appointed/dismissed hired/fired
founded/dissolved built/demolished created/destroyed single/married full/empty wet/dry hard/soft deep/shallow
wide/narrow thick/thin love/hate""".split()


def _antonyms() -> dict[str, frozenset[str]]:
    table: dict[str, set[str]] = {}
    for pair in _ANTONYM_PAIRS:
        left, right = pair.split("/")
        table.setdefault(left, set()).add(right)
        table.setdefault(right, set()).add(left)
    return {word: frozenset(others) for word, others in table.items()}


ANTONYMS = _antonyms()
ORDER = {
    "before": 1, "after": -1, "prior": 1, "preceded": 1, "followed": -1, "following": -1, "since": -1,
    "until": 1, "defeated": 1, "beat": 1, "replaced": 1, "succeeded": -1, "than": 1, "by": -1,
}  # fmt: skip
NUMBER_WORDS: dict[str, float] = {
    word: float(value)
    for value, word in enumerate(
        """zero one two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen
        sixteen seventeen eighteen nineteen twenty""".split()
    )
}
NUMBER_WORDS.update(
    thirty=30, forty=40, fifty=50, sixty=60, seventy=70, eighty=80, ninety=90,
    once=1, twice=2, thrice=3, first=1, second=2, third=3, fourth=4, fifth=5, sixth=6, seventh=7,
    eighth=8, ninth=9, tenth=10, half=0.5, dozen=12,
)  # fmt: skip
MILLIONS = {"m": 1e6, "mn": 1e6, "bn": 1e9}  # scales in front of a currency only: "5 m" is a length
CURRENCIES = frozenset("crown crowns dollar dollars euro euros pound pounds usd eur gbp francs yen".split())
SCALES = {"hundred": 1e2, "thousand": 1e3, "million": 1e6, "billion": 1e9, "trillion": 1e12}
UNITS = {
    "%": "%", "percent": "%", "percentage": "%", "pct": "%", "mg": "mg",
    "milligram": "mg", "milligrams": "mg",
    "g": "g", "gram": "g", "grams": "g", "kg": "kg", "kilogram": "kg", "kilograms": "kg", "ml": "ml",
    "milliliter": "ml", "milliliters": "ml", "l": "l", "liter": "l", "liters": "l", "litres": "l", "km": "km",
    "kilometer": "km", "kilometers": "km", "kilometre": "km", "kilometres": "km", "m": "m", "meter": "m",
    "meters": "m", "metre": "m", "metres": "m", "cm": "cm", "centimeter": "cm", "centimeters": "cm",
    "mm": "mm", "mile": "mi", "miles": "mi", "mi": "mi", "foot": "ft", "feet": "ft", "ft": "ft",
    "inch": "in",
    "inches": "in", "year": "yr", "years": "yr", "yr": "yr", "yrs": "yr", "month": "mo", "months": "mo",
    "week": "wk", "weeks": "wk", "day": "d", "days": "d", "hour": "h", "hours": "h", "hr": "h",
    "minute": "min",
    "minutes": "min", "min": "min",
    "second": "s", "seconds": "s", "dollar": "$", "dollars": "$", "$": "$",
    "usd": "$", "euro": "€", "euros": "€", "€": "€", "pound": "£", "pounds": "£", "£": "£",
    "crown": "crowns", "crowns": "crowns", "people": "people", "persons": "people",
    "inhabitants": "people", "residents": "people", "patients": "patients", "patient": "patients",
    "subjects": "patients", "participants": "patients", "times": "x", "fold": "x", "employees": "employees",
    "workers": "employees", "seats": "seats", "episodes": "ep", "goals": "goals", "points": "pts",
    "games": "games", "wins": "wins",
}  # fmt: skip
KNOWN_UNITS = frozenset({*UNITS.values(), "day"})
MONTHS = {
    name: i
    for i, name in enumerate(
        """january february march april may june july august september october november
        december""".split(),
        start=1,
    )
}
