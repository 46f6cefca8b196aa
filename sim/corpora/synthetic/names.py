"""Names of a world that does not exist: every entity has its own, near misses share a stem."""

from __future__ import annotations

from functools import cached_property
from math import gcd
from random import Random

from core.seeding import derive_seed

_ONSETS = "b br d dr f g gr h k kl l m n p pr r s st t tr v w z th sh".split()
_VOWELS = "a e i o u ae ei or ar el en".split()
_SYLLABLES = tuple(onset + vowel for onset in _ONSETS for vowel in _VOWELS)  # 264
_ENDINGS = {
    "place": ("mora", "ton", "wick", "dale", "bury", "holm", "stead", "ford", "gate", "mere"),
    "surname": ("n", "sk", "ner", "ling", "rix", "der", "mont", "well", "s", "ga"),
    "firm": ("tec", "vex", "dyne", "lux", "corp", "nix", "sol", "gen", "via", "mark"),
    "drug": ("xin", "zol", "mab", "pril", "dine", "vir", "statin", "cept", "fen", "lam"),
    "thing": ("ra", "los", "nth", "der", "vane", "mir", "qua", "lis", "bor", "net"),
}
_FIRST = (
    "Alda Bero Cira Dorin Elva Fenno Gerta Halvor Ilse Joren Kaia Lorin Mirel Nadia Orlo Petra Quill Runa "
    "Silas Tova Ulric Vesna Wendel Xenia Yara Zoltan Amis Brielle Corvin Delia Edric Fara Gideon Hesta Ivo "
    "Janna Kasper Linnea Marek Noor Osric Pilar Rasmus Sunniva Tarek Ursa Vito Willa Yorick Zara"
).split()
_NEAR = {
    "place": ("Upper {}", "New {}", "{} Falls", "{} Abbas", "Lower {}", "Port {}"),
    "firm": ("{} Holdings", "{} Partners", "{} Systems", "{} Mutual"),
    "drug": ("{} Forte", "{} Retard", "{} Neo", "{} Plus"),
    "work": ("A Return to {}", "{} Revisited", "The Heirs of {}", "Letters from {}"),
    "structure": ("Old {}", "Second {}", "Little {}", "East {}"),
}
_WORKS = (
    "The Lamps of {}", "Winter in {}", "The {} Letters", "A Clock for {}", "Seven Days at {}",
    "The Orchard of {}", "Crossing {}", "The Silence of {}",
)  # fmt: skip
_STRUCTURES = ("{} Bridge", "{} Tunnel", "{} Dam", "{} Viaduct", "{} Lighthouse", "{} Canal")
_INSTITUTES = (
    "Academy of {}", "{} Institute", "College of {}", "{} School of Arts", "University of {}",
    "{} Conservatory",
)  # fmt: skip
_CONDITIONS = ("{} fever", "{} syndrome", "{} palsy", "{} disease", "{} anemia", "{} dermatitis")
_POOL = 400


class Names:
    """Names under one seed.

    `entity(kind, index)` is different for every index up to two million and kind.
    """

    def __init__(self, seed: int) -> None:
        self._seed = seed
        self._pools: dict[str, tuple[str, ...]] = {}

    def entity(self, kind: str, index: int) -> str:
        """The name of entity `index` of `kind` (place, person, firm, drug, work, structure).

        Every third entity is a near miss of the one before: the same stem, another name.
        """
        near = index % 3 == 2
        base = index - near
        if kind == "person":
            stem = self._stem("surname", base)
            offset = self._step(kind)
            given = _FIRST[(base * 7 + offset) % len(_FIRST)]
            return f"{_FIRST[(base * 7 + offset + 11) % len(_FIRST)] if near else given} {stem}"
        ending = {"place": "place", "firm": "firm", "drug": "drug"}.get(kind, "thing")
        name = self._stem(ending, base)
        if kind == "work":
            form = _NEAR[kind][base % len(_NEAR[kind])] if near else _WORKS[base % len(_WORKS)]
            return form.format(name)
        if kind == "structure":
            name = _STRUCTURES[base % len(_STRUCTURES)].format(name)
        return _NEAR[kind][base % len(_NEAR[kind])].format(name) if near else name

    def pool(self, kind: str, rng: Random) -> str:
        """A name from the few hundred that facts refer to: person, town, river, firm, institute, ..."""
        if kind not in self._pools:
            self._pools[kind] = self._make_pool(kind)
        names = self._pools[kind]
        return rng.choice(names)

    def _make_pool(self, kind: str) -> tuple[str, ...]:
        rng = Random(derive_seed(self._seed, "pool", kind))
        ending = {"person": "surname", "town": "place", "institute": "place"}
        ending |= {"firm": "firm", "substance": "drug"}
        made: dict[str, None] = {}
        while len(made) < _POOL:
            stem = self._stem(ending.get(kind, "thing"), 3_000_000 + rng.randrange(10**6))
            form = {
                "person": f"{rng.choice(_FIRST)} {{}}",
                "institute": rng.choice(_INSTITUTES),
                "condition": rng.choice(_CONDITIONS),
                "title": rng.choice(_WORKS),
            }.get(kind, "{}")
            made.setdefault(form.format(stem))
        return tuple(made)

    def _stem(self, ending: str, index: int) -> str:
        """Two syllables and an ending; a third syllable where the indices run out of two."""
        endings = _ENDINGS[ending]
        short = len(_SYLLABLES) ** 2 * len(endings)
        code, high = index % short, index // short
        code = (code * self._multiplier(short) + self._step(ending)) % short
        code, last = divmod(code, len(endings))
        second, first = divmod(code, len(_SYLLABLES))
        middle = _SYLLABLES[(high * 37 + first * 5 + second * 3) % len(_SYLLABLES)] if high else ""
        return (_SYLLABLES[first] + _SYLLABLES[second] + middle + endings[last]).capitalize()

    def _step(self, kind: str) -> int:
        return self._offsets.setdefault(kind, derive_seed(self._seed, "names", kind))

    @cached_property
    def _offsets(self) -> dict[str, int]:
        return {}

    @staticmethod
    def _multiplier(modulus: int) -> int:
        """A number without a common divisor with `modulus`: multiplying by it permutes the indices."""
        multiplier = 386_117
        while gcd(multiplier, modulus) != 1:
            multiplier += 2
        return multiplier
