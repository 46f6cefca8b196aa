from __future__ import annotations

from random import Random
from string import Formatter

import pytest

from sim.corpora.synthetic import KINDS
from sim.corpora.synthetic.kinds import Kind, Relation
from sim.corpora.synthetic.names import Names

ALL = [
    pytest.param(kind, relation, id=f"{kind.category}-{relation.name}")
    for kind in KINDS
    for relation in kind.relations
]


def fields(text: str) -> list[str]:
    return [name for _, name, _, _ in Formatter().parse(text) if name is not None]


@pytest.mark.parametrize(("kind", "relation"), ALL)
def test_a_relation_is_told_in_six_ways_and_asked_for(kind: Kind, relation: Relation) -> None:
    assert len(set(relation.told)) >= 6
    assert relation.asked
    for told in relation.told:
        found = fields(told)
        assert found.count("v") == 1, told
        assert {"S", "P"} & set(found), told
        assert set(found) <= {"S", "P", "v"}, told
        assert told.endswith("."), told
    for asked in relation.asked:
        assert set(fields(asked)) == {"n"}
        assert asked.endswith("?")
    assert relation.draw(Random(0), Names(0)).text


@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.category)
def test_fillers_state_no_number_and_no_name(kind: Kind) -> None:
    assert len(kind.fillers) >= 5
    assert not any(character.isdigit() for filler in kind.fillers for character in filler)
    assert all(not word[0].isupper() for filler in kind.fillers for word in filler.split()[1:])


def test_categories_are_distinct_and_wide_enough() -> None:
    assert len({kind.category for kind in KINDS}) == len(KINDS) == 6
    assert all(len(kind.relations) >= 8 for kind in KINDS)
