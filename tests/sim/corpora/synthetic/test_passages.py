from __future__ import annotations

from random import Random

from sim.corpora.synthetic.kinds import Kind, Relation
from sim.corpora.synthetic.passages import Fact, Group, claim, tell
from sim.corpora.synthetic.values import Value, choice

FORMS = tuple(f"{{S}} way {letter} says {{v}}." for letter in "abcdef")
RELATION = Relation("r", choice("x"), FORMS, ("what of {n}?",))
KIND = Kind(
    "c", "place", "the town", "it", "its", (RELATION,), ("Birds sing there every single morning.",) * 8
)
GROUP = Group(0, "Velmora", KIND, (Fact(RELATION, Value(("red",))), Fact(RELATION, Value(("blue",)))), ())


def test_a_telling_names_the_entity_first_and_has_every_core_fact() -> None:
    text = tell(GROUP, 0, [range(6), range(6)], Random(1))
    assert text.startswith("Velmora way ")
    assert "red" in text
    assert "blue" in text
    assert len(text.split()) >= 42


def test_wordings_walk_through_the_forms() -> None:
    ways = [
        tell(GROUP, w, [range(6), range(6)], Random(w)).count(f"way {'abcdef'[w]} says") for w in range(6)
    ]
    assert ways == [2] * 6


def test_a_claim_gives_another_value() -> None:
    said = claim(GROUP, GROUP.core[0], Value(("green",)), FORMS[2], Random(0))
    assert said == "Velmora way c says green."
