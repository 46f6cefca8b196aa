from __future__ import annotations

from random import Random

import pytest

from sim.corpora.synthetic.names import Names

KINDS = ("place", "person", "firm", "drug", "work", "structure")


@pytest.mark.parametrize("kind", KINDS)
def test_every_entity_has_a_name_of_its_own(kind: str) -> None:
    names = Names(1)
    indices = [*range(4_000), *range(695_000, 699_000), *range(1_392_000, 1_395_000)]
    assert len({names.entity(kind, i) for i in indices}) == len(indices)


@pytest.mark.parametrize("kind", KINDS)
def test_every_third_entity_is_a_near_miss_of_the_one_before(kind: str) -> None:
    names = Names(5)
    for i in range(2, 60, 3):
        first, near = names.entity(kind, i - 2 + 0), names.entity(kind, i)
        base = names.entity(kind, i - 1)
        assert near not in (base, first)
        stem = base.split()[-1] if kind == "person" else max(base.split(), key=len)
        assert stem in near


def test_names_follow_from_the_seed() -> None:
    assert [Names(1).entity("place", i) for i in range(9)] == [Names(1).entity("place", i) for i in range(9)]
    assert Names(1).entity("place", 0) != Names(2).entity("place", 0)
    assert Names(1).pool("river", Random(3)) == Names(1).pool("river", Random(3))


def test_pools_are_of_their_kind() -> None:
    names = Names(0)
    assert len(names.pool("person", Random(0)).split()) == 2
    assert names.pool("condition", Random(0)).split()[-1] in {
        "fever", "syndrome", "palsy", "disease", "anemia", "dermatitis"
    }  # fmt: skip
