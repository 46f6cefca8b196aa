"""Telling facts: one group of facts in several independent wordings."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from random import Random

from sim.corpora.synthetic.kinds import Kind, Relation
from sim.corpora.synthetic.values import Value

_LEAST_WORDS = 42
_JOINTS = (", and ", "; ", ", while ", " - ")


@dataclass(frozen=True, slots=True)
class Fact:
    """A relation with its value, for the entity of its group."""

    relation: Relation
    value: Value


@dataclass(frozen=True, slots=True)
class Group:
    """Facts of one entity: those that every telling has, and spare ones that a telling may add."""

    number: int
    name: str
    kind: Kind
    core: tuple[Fact, ...]
    spare: tuple[Fact, ...]


def tell(group: Group, wording: int, orders: Sequence[Sequence[int]], rng: Random) -> str:
    """A passage with the core facts of `group`, some spare ones and fillers, 40 to 120 words.

    `orders[i]` is a permutation of the sentence forms of core fact i: wording w takes the w-th, so that
    tellings differ in every sentence as long as the forms suffice.
    """
    told = [
        (fact, fact.relation.told[orders[i][wording % len(orders[i])]]) for i, fact in enumerate(group.core)
    ]
    spare = rng.sample(group.spare, rng.randrange(min(4, len(group.spare) + 1)))
    told += [(fact, rng.choice(fact.relation.told)) for fact in spare]
    rng.shuffle(told)
    fillers = rng.sample(group.kind.fillers, len(group.kind.fillers))
    lines = [_say(group, fact, form, first=i == 0, rng=rng) for i, (fact, form) in enumerate(told)]
    lines = _join(lines, [form for _, form in told], rng)
    wanted = rng.randrange(2)
    while fillers and (wanted > 0 or len(" ".join(lines).split()) < _LEAST_WORDS):
        lines.insert(rng.randint(1, len(lines)), fillers.pop())
        wanted -= 1
    return " ".join(lines)


def claim(group: Group, fact: Fact, value: Value, form: str, rng: Random) -> str:
    """One sentence that gives `value` to the relation of `fact`, with the entity's full name."""
    return _say(group, Fact(fact.relation, value), form, first=True, rng=rng)


def _say(group: Group, fact: Fact, form: str, *, first: bool, rng: Random) -> str:
    kind = group.kind
    subjects = (group.name, kind.noun) if kind.pronoun == "they" else (group.name, kind.noun, kind.pronoun)
    subject = group.name if first else rng.choice(subjects)
    if subject == kind.pronoun and not form.startswith("{S}"):
        subject = kind.noun
    owner = f"{subject}'s" if subject != kind.pronoun else kind.possessive
    if not first and "{P}" in form and rng.random() < 0.5:
        owner = kind.possessive
    said = form.format(S=subject, P=owner, v=rng.choice(fact.value.forms))
    return said[0].upper() + said[1:]


def _join(lines: list[str], forms: list[str], rng: Random) -> list[str]:
    """At most two neighbouring sentences drawn together into one, so that three or more stay."""
    joined: list[str] = []
    free = len(lines) > 3
    for i, line in enumerate(lines):
        begins_with_name = forms[i].startswith("{v}") or not re.match(
            r"(?:The|It|A|In|At|On|With|Its)\b", line
        )
        if free and joined and not begins_with_name and rng.random() < 0.25:
            free = False
            joint = rng.choice(_JOINTS)
            joined[-1] = f"{joined[-1][:-1]}{joint}{line[0].lower()}{line[1:]}"
        else:
            joined.append(line)
    return joined
