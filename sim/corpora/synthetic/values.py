"""Values of facts: how each is drawn, in which forms it may be written, and what else it could be."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from random import Random

from sim.attacks.numbers import WORDS_OF
from sim.corpora.synthetic.names import Names


@dataclass(frozen=True, slots=True)
class Value:
    """`forms`: ways to write it, the plainest first; any of them answers a question."""

    forms: tuple[str, ...]

    @property
    def text(self) -> str:
        return self.forms[0]


Draw = Callable[[Random, Names], Value]


def year(low: int, high: int) -> Draw:
    """A year in [low, high]."""
    return lambda rng, names: Value((str(rng.randint(low, high)),))


def count(low: int, high: int, step: int = 1) -> Draw:
    """A number with thousands separators or without; words for numbers up to twenty."""

    def draw(rng: Random, names: Names) -> Value:
        number = rng.randint(low // step, high // step) * step
        return Value(_count_forms(number))

    return draw


def quantity(low: int, high: int, units: tuple[str, ...], step: int = 1) -> Draw:
    """A number with one of `units`, which mean the same ("mg", "milligrams")."""

    def draw(rng: Random, names: Names) -> Value:
        number = rng.randint(low // step, high // step) * step
        plain = f"{number:,}"
        return Value(tuple(f"{plain}{'' if unit.startswith('%') else ' '}{unit}" for unit in units))

    return draw


def choice(*options: str) -> Draw:
    """One of `options`."""
    return lambda rng, names: Value((rng.choice(options),))


def named(kind: str) -> Draw:
    """A name of the world: person, town, river, firm, institute, condition, substance or title."""
    return lambda rng, names: Value((names.pool(kind, rng),))


def other(draw: Draw, value: Value, rng: Random, names: Names) -> Value:
    """A value of the same draw that shares no form with `value`."""
    for _ in range(100):
        found = draw(rng, names)
        if not set(found.forms) & set(value.forms):
            return found
    raise ValueError(f"no value other than {value.text!r} can be drawn")


def _count_forms(number: int) -> tuple[str, ...]:
    if number in WORDS_OF and number <= 20:
        return (str(number), WORDS_OF[number])
    if number > 2100:
        return (f"{number:,}", str(number))
    return (f"{number:,}",) if number >= 1000 else (str(number),)
