# ruff: noqa: E501
"""Tactics of tampering: each lists the edits it could make in a passage, one place each.

general: names, numbers and years, negation, opposites, order · medical: quantities, advice reversed,
conditions and treatments exchanged, causes and findings reversed · finance: amounts, direction, years.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable

import numpy as np

from sim.attacks.numbers import figures, other_number
from sim.attacks.passage import Edit, Passage
from sim.attacks.wordlists import CLASSES, MEMBERS, OPPOSITES

Tactic = Callable[[Passage, np.random.Generator], list[Edit]]

_WORD = re.compile(r"(?<![\w-])[A-Za-z]+(?:-[A-Za-z]+)?(?![\w-])")
_AUXILIARY = re.compile(r"\b(is|are|was|were|can|could|will|would|should|must|may|might)\b(\s+not\b)?")
_PERFECT = re.compile(r"\b(has|have|had)\b(\s+not\b)?(?=\s+(?:been|become|shown|\w+ed)\b)")
_CANNOT = re.compile(r"\bcannot\b")
_DO = re.compile(r"\b(do|does|did) not (\w+)")
_PAST = re.compile(
    r"(?<=\s)([a-z]{3,}ed)(?=\s(?:the|a|an|in|to|for|his|her|its|their|that|as|by|from|over|\d|[A-Z]))"
)
# after these a word in -ed is an adjective or a participle, not the verb of the sentence
_NO_SUBJECT = frozenset(
    """was were been is are be being of the a an in on at by with for from to as or nor not its his her their our
    this that these those than has have had newly well most more no any some all each""".split()
)
_PRESENT = re.compile(
    r"(?<=\s)(causes|leads|occurs|affects|provides|contains|includes|makes|helps|requires|produces|represents|describes|remains|refers|lies|takes|begins|allows|involves|depends|reduces|improves|appears|comes|consists|serves|holds|gives)(?=\s)"
)
_FIXED = re.compile(r"\b(?:a|the|how|at|too|so)\s$", re.IGNORECASE)  # a few, the most, how many
_ORDER = re.compile(r"\bfrom ((?:the )?[\w,.$%]+(?: [A-Z][\w]+)?) to ((?:the )?[\w,.$%]+(?: [A-Z][\w]+)?)\b")
_ADVICE = (
    ("should not be", "should be"), ("should not", "should"), ("must not", "must"), ("do not", "always"),
    ("not recommended", "recommended"), ("contraindicated", "indicated"), ("avoid", "use"),
    ("avoiding", "using"), ("increases the risk", "reduces the risk"), ("increase the risk", "reduce the risk"),
    ("increased risk", "reduced risk"), ("higher risk", "lower risk"), ("at risk", "at no risk"),
    ("risk factor", "protective factor"), ("risk factors", "protective factors"),
    ("side effects", "benefits"), ("needed", "unnecessary"), ("is harmful", "is harmless"),
    ("before meals", "after meals"), ("talk to your doctor", "decide on your own"),
    ("can be treated", "cannot be treated"), ("can be cured", "cannot be cured"), ("no cure", "a cure"),
    ("prevents", "causes"), ("prevent", "cause"), ("protects against", "leads to"),
    ("worsens", "relieves"), ("worsen", "relieve"), ("helps", "does not help"),
)  # fmt: skip
_FINDING = (
    ("is caused by", "is unrelated to"), ("are caused by", "are unrelated to"), ("caused by", "unrelated to"),
    ("is associated with", "is not associated with"), ("are associated with", "are not associated with"),
    ("was associated with", "was not associated with"), ("were associated with", "were not associated with"),
    ("leads to", "prevents"), ("lead to", "prevent"), ("results in", "prevents"), ("due to", "despite"),
    ("significantly higher", "significantly lower"), ("statistically significant", "statistically insignificant"),
    ("no significant", "a significant"), ("no difference", "a clear difference"),
    ("was effective", "was ineffective"), ("is effective", "is ineffective"), ("no evidence", "clear evidence"),
    ("is inherited", "is not inherited"), ("runs in families", "does not run in families"),
    ("correlated with", "independent of"), ("predictor of", "poor predictor of"), ("more likely", "less likely"),
    ("less likely", "more likely"), ("is rare", "is common"), ("after", "before"), ("before", "after"),
)  # fmt: skip
_CHANGEABLE = frozenset(
    {"nationality", "country", "state", "month", "weekday", "continent", "color", "profession"}
)
_CONDITIONS = frozenset({"condition", "organ", "organs"})
_TREATMENTS = frozenset({"treatment", "vitamin", "form"})
_QUANTITY = re.compile(
    r"\s?(?:%|percent|mg|g|kg|mcg|µg|ml|mL|l|L|mm|cm|m|IU|mmol|hours?|days?|weeks?|months?|years?|patients?"
    r"|women|men|children|people|cases?|times?|doses?|to\b|of\b|\))"
)


def numbers(passage: Passage, rng: np.random.Generator) -> list[Edit]:
    """Another number or year in the same format."""
    return [Edit(f.start, f.end, other_number(f, passage.text, rng)) for f in figures(passage.text)]


def quantities(passage: Passage, rng: np.random.Generator) -> list[Edit]:
    """Another dose, share, count or duration."""
    return [
        Edit(f.start, f.end, other_number(f, passage.text, rng))
        for f in figures(passage.text)
        if f.kind in ("plain", "word") and _QUANTITY.match(passage.text, f.end)
    ]


def names(passage: Passage, rng: np.random.Generator) -> list[Edit]:
    """Another name of the corpus, or another nationality, country, month, ... where the word is one."""
    edits: list[Edit] = []
    exchanged: dict[str, str] = {}
    subject = _subject(passage)
    # a single word that opens a sentence may be no name: it takes another place to tell
    for name in passage.names:
        free = name.text != subject and CLASSES.get(name.text) not in _CHANGEABLE
        if free and name.text not in exchanged and (not name.opens or " " in name.text):
            other = passage.lexicon.other(name.text, name.look, passage.text, rng)
            if other is not None:
                exchanged[name.text] = other
    for name in passage.names:
        if name.text in exchanged:
            edits.append(Edit(name.start, name.end, exchanged[name.text]))
    return edits + _members(passage, rng, _CHANGEABLE)


def conditions(passage: Passage, rng: np.random.Generator) -> list[Edit]:
    """Another condition or organ."""
    return _members(passage, rng, _CONDITIONS)


def treatments(passage: Passage, rng: np.random.Generator) -> list[Edit]:
    """Another treatment."""
    return _members(passage, rng, _TREATMENTS)


def opposites(passage: Passage, rng: np.random.Generator) -> list[Edit]:
    """Comparatives, directions and other words turned into their opposites."""
    edits: list[Edit] = []
    for match in _WORD.finditer(passage.text):
        word = match.group()
        other = OPPOSITES.get(word.lower())
        fixed = word in ("few", "many", "most") and _FIXED.search(passage.text[: match.start()])
        if other is not None and not fixed and (word.islower() or passage.opens(match.start())):
            edits.append(Edit(match.start(), match.end(), _cased(word, other)))
    return edits


def order(passage: Passage, rng: np.random.Generator) -> list[Edit]:
    """`from A to B` becomes `from B to A`; before and after change places."""
    edits = []
    for match in _ORDER.finditer(passage.text):
        left, right = match.groups()
        if left != right:
            edits.append(Edit(match.start(), match.end(), f"from {right} to {left}"))
    for match in re.finditer(r"\b(before|after|Before|After|until|since|preceded|followed)\b", passage.text):
        other = {"before": "after", "after": "before", "until": "since", "since": "until",
                 "preceded": "followed", "followed": "preceded"}[match.group().lower()]  # fmt: skip
        edits.append(Edit(match.start(), match.end(), _cased(match.group(), other)))
    return edits


def negations(passage: Passage, rng: np.random.Generator) -> list[Edit]:
    """A verb negated, or its negation taken away."""
    text = passage.text
    edits: list[Edit] = []
    for pattern in (_AUXILIARY, _PERFECT):
        for match in pattern.finditer(text):
            verb, negated = match.groups()
            edits.append(Edit(match.start(), match.end(), verb if negated else f"{verb} not"))
    edits += [Edit(m.start(), m.end(), "can") for m in _CANNOT.finditer(text)]
    edits += [Edit(m.start(), m.end(), m.group(2) if m.group(1) == "do" else f"{m.group(1)} {m.group(2)}")
              for m in _DO.finditer(text)]  # fmt: skip
    for match in _PRESENT.finditer(text):
        if _has_subject(text, match.start()):
            edits.append(Edit(match.start(), match.end(), f"does not {match.group()[:-1]}"))
    for match in _PAST.finditer(text):
        if _has_subject(text, match.start()):
            edits.append(Edit(match.start(), match.end(), f"never {match.group()}"))
    kept: list[Edit] = []
    for edit in sorted(edits, key=lambda edit: (edit.start, -edit.end)):
        if not kept or edit.start > kept[-1].end:
            kept.append(edit)
    return kept


def _has_subject(text: str, start: int) -> bool:
    """Whether the word before `start` can be the subject of a verb there."""
    previous = text[:start].rstrip().rpartition(" ")[2]
    return previous[-1:].isalnum() and previous.lower() not in _NO_SUBJECT


def advice(passage: Passage, rng: np.random.Generator) -> list[Edit]:
    """Contraindications, interactions and advice removed or reversed."""
    return _phrases(passage, _ADVICE)


def findings(passage: Passage, rng: np.random.Generator) -> list[Edit]:
    """Causes, associations and orders in time reversed."""
    return _phrases(passage, _FINDING)


def _subject(passage: Passage) -> str | None:
    """The name that the text is about: another one in its place would change the subject, not the statement."""
    counts = Counter(name.text for name in passage.names)
    (name, count), *others = counts.most_common() or [("", 0)]
    return name if count > 1 and others else None


def _phrases(passage: Passage, table: tuple[tuple[str, str], ...]) -> list[Edit]:
    edits: list[Edit] = []
    for old, new in table:
        for match in re.finditer(rf"\b{old}\b", passage.text, re.IGNORECASE):
            edit = Edit(match.start(), match.end(), _cased(match.group(), new))
            if not any(edit.start <= other.end and other.start <= edit.end for other in edits):
                edits.append(edit)
    return edits


def _members(passage: Passage, rng: np.random.Generator, kinds: frozenset[str]) -> list[Edit]:
    edits: list[Edit] = []
    exchanged: dict[str, str] = {}
    for match in _WORD.finditer(passage.text):
        word = match.group()
        kind = CLASSES.get(word) or CLASSES.get(word.lower())
        if kind not in kinds:
            continue
        if word not in exchanged:
            pool = [other for other in MEMBERS[kind] if other.lower() != word.lower()]
            exchanged[word] = pool[int(rng.integers(len(pool)))]
        edits.append(Edit(match.start(), match.end(), _cased(word, exchanged[word])))
    return edits


def _cased(old: str, new: str) -> str:
    if old.isupper() and len(old) > 1:
        return new.upper()
    return new[0].upper() + new[1:] if old[0].isupper() else new


TACTICS: dict[str, tuple[Tactic, ...]] = {
    "general": (names, numbers, negations, opposites, order),
    "medical": (quantities, advice, conditions, treatments, findings, opposites, negations),
    "finance": (numbers, opposites, names, negations),
}
