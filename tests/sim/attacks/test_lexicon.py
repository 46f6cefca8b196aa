from __future__ import annotations

import pickle

import numpy as np
import pytest

from sim.attacks.lexicon import Lexicon, build_lexicon, look_of, names_in


def spans(text: str) -> list[str]:
    found = names_in(text)
    assert all(text[name.start : name.end] == name.text for name in found)
    return [name.text for name in found]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("The song was sung by Elvis Presley in Hawaii.", ["Elvis Presley", "Hawaii"]),
        ("In London the University of Leeds met.", ["London", "University of Leeds"]),
        ("Dr. Watson's dog and NASA's rocket", ["Watson", "NASA"]),
        ("Sales of The Lamps rose", ["Lamps"]),
        ("nothing here", []),
        ("President Abraham Lincoln-Smith spoke", ["Abraham Lincoln-Smith"]),
        ("I am A. B.", []),
    ],
)
def test_names_are_found_where_they_stand(text: str, expected: list[str]) -> None:
    assert spans(text) == expected


def test_opening_names_are_marked() -> None:
    first, second = names_in("Paris sleeps. It saw Rome.")
    assert (first.text, first.opens) == ("Paris", True)
    assert (second.text, second.opens) == ("Rome", False)


def test_looks() -> None:
    assert look_of("NASA") == "1/caps"
    assert look_of("Elvis Presley") == "2/plain"
    assert look_of("University of Leeds") == "3/of"


def test_another_name_has_the_same_look_and_kind() -> None:
    texts = [f"they saw {a} River and {b} Smith near {c}" for a, b, c in zip(
        ("Ara", "Bel", "Cor", "Dun", "Eth", "Fal"), ("Ann", "Bob", "Cid", "Dan", "Eve", "Fay"),
        ("Rome", "Paris", "Rome", "Paris", "Rome", "Paris"), strict=True)]  # fmt: skip
    lexicon = build_lexicon(texts)
    rng = np.random.default_rng(0)
    for _ in range(20):
        assert (lexicon.other("Ara River", "2/plain", "Ara River", rng) or "").endswith(" River")
        assert lexicon.other("Rome", "1/plain", "in Rome", rng) == "Paris"
    assert lexicon.other("Rome", "1/plain", "Rome and Paris", rng) is None
    assert Lexicon().other("Rome", "1/plain", "", rng) is None
    assert pickle.loads(pickle.dumps(lexicon)) == lexicon


def test_members_of_closed_classes_are_no_names_of_the_corpus() -> None:
    listed = build_lexicon(["he saw Monday and Germany and Rome", "she saw Monday and Germany and Rome"])
    assert list(listed.names.values()) == [("Rome",)]
