"""Names that occur in a corpus, sorted by look, so that one can stand in for another."""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np

from sim.attacks.wordlists import CLASSES, NOT_NAMES

_LIMIT = 400  # names of one look
_COMMON_TAIL = 5  # names from which a word (River, County, University of) counts as a kind of its own
SPAN = re.compile(
    r"(?<![\w'’.-])[A-Z][\w'’]*(?:-[A-Z]?[\w'’]+)*"
    r"(?:\s(?:(?:of|de|von|van|du|la|del)\s)?[A-Z][\w'’]*(?:-[A-Z]?[\w'’]+)*)*"
)
_TITLES = frozenset({"Mr", "Mrs", "Ms", "Dr", "Sir", "St", "Saint", "President", "King", "Queen", "Prince"})


@dataclass(frozen=True, slots=True)
class Name:
    """A capitalised span at `start:end`, its look, and whether it opens a sentence."""

    start: int
    end: int
    text: str
    look: str
    opens: bool


@dataclass(frozen=True)
class Lexicon:
    """`names`: look -> names of the corpus that have it; names with such a word in common are kept apart."""

    names: Mapping[str, Sequence[str]] = field(default_factory=dict)

    def other(self, name: str, look: str, text: str, rng: np.random.Generator) -> str | None:
        """Another name of the same look that does not stand in `text`; None where the corpus has none."""
        pool = self.names.get(f"{look}:{_tail(name)}") or self.names.get(look, ())
        for index in rng.permutation(len(pool))[:12]:
            candidate = pool[int(index)]
            if candidate != name and candidate not in text:
                return candidate
        return None


def names_in(text: str) -> list[Name]:
    """Capitalised spans of `text` that look like names, in order."""
    found: list[Name] = []
    for match in SPAN.finditer(text):
        start, end = match.start(), match.end()
        words = match.group().split()
        opens = start == 0 or text[:start].rstrip()[-1:] in '.!?:"”“•'
        while words and (words[0] in NOT_NAMES or words[0] in _TITLES or words[0].islower()):
            start += len(words[0]) + 1
            words = words[1:]
        while words and (words[-1] in NOT_NAMES or words[-1].islower()):
            end -= len(words[-1]) + 1
            words = words[:-1]
        if not words or end <= start:
            continue
        span = text[start:end]
        for ending in ("'s", "’s", "'", "’"):
            if span.endswith(ending):
                span, end = span[: -len(ending)], end - len(ending)
                break
        if len(span) > 1:
            found.append(Name(start, end, span, look_of(span), opens and start == match.start()))
    return found


def look_of(name: str) -> str:
    """Words, whether all capitals, and whether `of` or a hyphen stands in it: what style would betray."""
    words = name.split()
    kind = "caps" if name.isupper() else "of" if any(word.islower() for word in words) else "plain"
    return f"{len(words)}/{kind}"


def _tail(name: str) -> str:
    """The word that says what a name of several words names: University of X, X River."""
    return name.partition(" ")[0] if " of " in name else name.rpartition(" ")[2]


def build_lexicon(texts: Sequence[str]) -> Lexicon:
    """Names of `texts` that stand within a sentence or have several words, the frequent ones first."""
    counts: Counter[str] = Counter()
    for text in texts:
        counts.update(
            name.text
            for name in names_in(text)
            if (not name.opens or " " in name.text) and name.text not in CLASSES and len(name.text) < 40
        )
    tails = Counter(_tail(name) for name in counts if " " in name)
    pools: dict[str, list[str]] = defaultdict(list)
    for name, count in sorted(counts.items(), key=lambda item: (-item[1], item[0])):
        common = " " in name and tails[_tail(name)] >= _COMMON_TAIL
        pool = pools[f"{look_of(name)}:{_tail(name)}" if common else look_of(name)]
        if len(pool) < _LIMIT and (count > 1 or " " in name):
            pool.append(name)
    return Lexicon({look: tuple(pool) for look, pool in sorted(pools.items())})
