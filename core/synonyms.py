# ruff: noqa: E501
"""Words and phrases that can stand for each other without a change of meaning or grammar."""

from __future__ import annotations

_WORDS = """
big large|huge enormous|small little|tiny minute|quick rapid|quickly rapidly|start begin|starts begins|started began|starting beginning
|buy purchase|bought purchased|show demonstrate|shows demonstrates
showed demonstrated|showing demonstrating|shown demonstrated|
|needed required|build construct|builds constructs|built constructed|building constructing|make produce|end conclude
ended concluded|happen occur|happens occurs|happened occurred|happening occurring|give provide|gives provides|gave provided
given provided|choose select|chooses selects|chose selected|chosen selected|say state|says states|said stated|ask inquire
asked inquired|try attempt|tries attempts|tried attempted|trying attempting|allow permit
allows permits|allowed permitted|allowing permitting|let permit|stop halt|stopped halted|stops halts|live reside|lives resides
lived resided|think believe|thinks believes|thought believed|look seem|looks seems|seems appears|seemed appeared
important significant|main principal|chief principal|mainly chiefly|primarily chiefly|mostly largely|often frequently|usually typically
commonly generally|normally ordinarily|sometimes occasionally|rarely seldom|almost nearly|approximately roughly|around roughly
however nevertheless|therefore consequently|thus hence|although though|while whereas|besides moreover
furthermore moreover|additionally moreover|instead rather|still nonetheless|afterwards later|subsequently later|previously earlier
formerly previously|currently presently|now presently|recently lately|initially originally|eventually ultimately|finally lastly
immediately instantly|suddenly abruptly|slowly gradually|completely entirely|totally entirely|fully completely|partly partially
exactly precisely|especially particularly|specifically particularly|extremely exceedingly|quite rather|enough sufficient
famous renowned|well-known renowned|popular well-liked|difficult hard|easy simple|simple straightforward|
|whole entire|various diverse|different distinct|similar alike|several various|many numerous|numerous countless
|country nation|countries nations|kid child
kids children|doctors physicians|illness disease|illnesses diseases|sickness illness|
medicine medication|medicines medications|drug medication|drugs medications|treatment therapy|treatments therapies|therapy treatment|cure remedy
examination test|examinations tests|exam test|exams tests|study investigation|studies investigations|trial experiment|research investigation|researchers investigators|scientists researchers
finding result|findings results|outcome result|outcomes results|goal aim|goals aims|objective aim|purpose aim|method approach|methods approaches
technique method|techniques methods|way manner|ways means|part portion|parts portions|piece portion|kind type|kinds types|sort kind|sorts kinds|form shape
amount quantity|amounts quantities|job occupation|jobs occupations|work labor|home residence|homes residences|road street|roads streets
film movie|films movies|picture image|pictures images|story tale|stories tales|author writer|authors writers
singer vocalist|singers vocalists|episode installment|episodes installments|role part|roles parts|actor performer|actors performers
teacher instructor|teachers instructors|pupil student|pupils students|firm company|firms companies|company enterprise|business enterprise|businesses enterprises|employee worker
employees workers|boss supervisor|money funds|profit gain|profits gains|revenue turnover|revenues receipts|sales turnover|
agreement accord|contract agreement|contracts agreements|law statute|laws statutes|rule regulation|rules regulations|leader head|leaders heads|ruler sovereign|rulers sovereigns
army military|war conflict|wars conflicts|battle fight|battles fights|enemy foe|enemies foes|victory triumph|attack assault|attacks assaults|attacked assaulted
|created made|create make|creates makes|formed created|developed devised|develop devise|designed devised|invented devised|wrote penned|written penned|recorded taped
released issued|released published|announced declared|announce declare|announces declares|described depicted|describe depict|describes depicts|portrayed depicted|portrays depicts|titled entitled
|became turned|remains stays|remain stay|remained stayed|returned came
|move relocate|moves relocates|traveled journeyed|travelled journeyed|visited toured|arrived came|left departed|joined entered|
|win secure|wins secures|gained acquired|gain acquire|gains acquires|achieved attained|achieve attain|achieves attains|reached attained|reach attain|
examined investigated|examine investigate|evaluated assessed|evaluate assess|evaluates assesses|evaluating assessing|evaluation assessment|analyzed examined|analysed examined|compared contrasted|compare contrast|observed noted|observe note|found discovered|find discover|finds discovers|
detected identified|detect identify|detects identifies|discovered uncovered|suggests indicates|suggest indicate|suggested indicated|suggesting indicating|indicates signals|revealed disclosed|reveal disclose|reveals discloses|reported stated|report state|reports states|concluded inferred
|performs conducts|monitored watched|monitor watch|prevented averted|prevent avert|prevents averts|affects influences|affect influence|damaged harmed|damage harm|damages harms
enrolled recruited|included covered|involves entails|involve entail|involved entailed|supports backs|support back|supported backed
changed altered|change alter|changes alters|replaced substituted|shut closed|break fracture|joined linked|linked connected|related connected|connected joined
whole complete|total overall|main primary|key essential|essential vital|additional further|extra additional|further additional|prior previous|current present|modern contemporary|ancient age-old
possible feasible|probable likely|able capable|typical characteristic|unusual uncommon|rare uncommon|frequent common|serious grave|severe serious|tough hard|strong powerful|weak feeble|wealthy rich|bright luminous|silent quiet|brave courageous|clever smart|whole full
|within inside|toward towards|among amongst|while whilst|until till|upon on|via through
"""
_PHRASES = """
because of|due to|owing to
in order to|so as to
as well as|together with
a number of|several
in addition to|besides
at present|at the moment
in total|all told
is known as|goes by the name of
was held|took place
were held|took place
is located in|lies in
is situated in|lies in
was located in|lay in
is made up of|is composed of
are made up of|are composed of
is composed of|is formed of
the majority of|most of
prior to|ahead of
for instance|for example
such as|for example
in particular|above all
as a result|in consequence
in spite of|despite
with regard to|concerning
with respect to|regarding
at the same time|simultaneously
on the other hand|by contrast
in contrast|by contrast
a lot of|plenty of
at the end of|towards the close of
by means of|with the help of
in the course of|during
the fact that|that
is able to|is in a position to
per year|a year
each year|every year
all over the world|worldwide
the United States of America|the United States
in the United States|in the US
took part in|participated in
carried out|conducted
set up|established
made up of|composed of
refers to|denotes
is used to|serves to
are used to|serve to
best known for|most famous for
also known as|also called
"""
_KEEP_ONE_WAY = frozenset(
    {"such as", "has been", "have been", "a number of", "the fact that", "in the United States", "is able to",
     "is used to", "are used to", "known as", "is situated in", "is made up of", "was held", "were held",
     "the United States of America", "set up", "carried out", "made up of", "in total"}
)  # fmt: skip
# the second word of such a pair has other meanings, so that only the first may be exchanged
_FIRST_ONLY = frozenset(
    """part say says said state building make end found sign signs form like hard right back backs last
    minute head heads note noted hold holds turned age-old came left entered taped watch watched fight
    fights guard guards stay stays sits test tests image cover covered that on wage rather close whole
    quite mean very still since while look looks let now around book books show shows kind sort band bands
    role roles condition conditions drug drugs used use uses city work job little light made make makes
    means manner shape volume volumes tune tunes part parts age named first present on till inside common
    full hard demand demands gain gains profit profits company business cost costs price prices study
    trial change changes add move moves home result results states produce produced produces"""
    .split()
)  # fmt: skip


def _exchanges() -> dict[str, tuple[str, ...]]:
    table: dict[str, list[str]] = {}
    for pair in _WORDS.replace("\n", "|").split("|"):
        if not pair.strip():
            continue
        left, right = pair.split()
        table.setdefault(left, []).append(right)
        if right not in _FIRST_ONLY:
            table.setdefault(right, []).append(left)
    return {word: tuple(dict.fromkeys(others)) for word, others in table.items() if word not in _SKIP}


def _phrases() -> tuple[tuple[str, tuple[str, ...]], ...]:
    table: dict[str, list[str]] = {}
    for line in _PHRASES.strip().splitlines():
        forms = line.split("|")
        for form in forms[:1] if forms[0] in _KEEP_ONE_WAY else forms:
            table.setdefault(form, []).extend(other for other in forms if other != form)
    ordered = sorted(table.items(), key=lambda item: (-len(item[0]), item[0]))
    return tuple((form, tuple(dict.fromkeys(others))) for form, others in ordered)


# words with several common senses or parts of speech: exchanging them breaks sentences
_SKIP = frozenset(
    """since while part make made end sign form still rather look looks let hard right very quite like kept
    now around close gain gains cause causes lost change changes total present present last first show shows
    shown said says say state states use uses used work whole turned came left got get gets place found find
    finds study studies trial band role roles condition report reports support supports monitor record
    close company book books need needs head heads attack attacks contrast manage hold holds contain lies
    sits minute place within upon on that age-old taped further around related met given carried""".split()
)

WORDS: dict[str, tuple[str, ...]] = _exchanges()
PHRASES: tuple[tuple[str, tuple[str, ...]], ...] = _phrases()
