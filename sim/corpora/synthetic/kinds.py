"""Kinds of entities of the world, the relations that hold of them, and the words for each.

A sentence of a relation has `{S}` where the subject stands, `{P}` for its possessive and `{v}` for the
value; a question has `{n}` for the full name.
"""

from __future__ import annotations

from dataclasses import dataclass

from sim.corpora.synthetic.values import Draw


@dataclass(frozen=True)
class Relation:
    """A fact that can hold of an entity: how its value is drawn, told (at least 6 ways) and asked for."""

    name: str
    draw: Draw
    told: tuple[str, ...]
    asked: tuple[str, ...]


@dataclass(frozen=True)
class Kind:
    """A kind of entity.

    `names` is the kind of name, `noun` what else it is called, `pronoun` and `possessive` its pronouns,
    `fillers` sentences that state nothing that could be checked.
    """

    category: str
    names: str
    noun: str
    pronoun: str
    possessive: str
    relations: tuple[Relation, ...]
    fillers: tuple[str, ...]


def relation(name: str, draw: Draw, told: str, asked: str) -> Relation:
    """A relation from one sentence and one question a line."""
    sentences = tuple(line.strip() for line in told.strip().splitlines())
    questions = tuple(line.strip() for line in asked.strip().splitlines())
    return Relation(name, draw, sentences, questions)


def fillers(text: str) -> tuple[str, ...]:
    """One sentence a line."""
    return tuple(line.strip() for line in text.strip().splitlines())
