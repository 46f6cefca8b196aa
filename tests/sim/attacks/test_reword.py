from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from core.text import sentences
from sim.attacks.numbers import figures, value_of
from sim.attacks.reword import reword
from tests.sim.small_corpus import small_corpus

TEXTS = [document.text for document in small_corpus().documents]
NEGATION = re.compile(r"\b(?:not|no|never|none|without|cannot)\b|n't\b")
PARTS = st.sampled_from(
    ["In 1969", "about 12,500 people", "two", "3 men", "45%", "7 percent", "(or so)", "did not", "begin", "a big town",
     "because of", "such as", ", which is famous,", "He", "The doctor", "5000", "20500 copies", "on 4 May", "B12", "!"]
)  # fmt: skip


def values(text: str) -> list[float]:
    return sorted(value_of(figure.text) for figure in figures(text))


@given(st.sampled_from(TEXTS), st.integers(0, 2**63))
def test_documents_are_reworded_with_their_numbers_and_negations(text: str, seed: int) -> None:
    told = reword(text, seed)
    assert told != text
    assert told == reword(text, seed)
    assert values(told) == values(text)
    assert len(NEGATION.findall(told)) == len(NEGATION.findall(text))
    assert len(sentences(told)) == len(sentences(text))


@given(st.lists(st.lists(PARTS, min_size=1, max_size=7).map(" ".join), max_size=5), st.integers(0, 2**63))
def test_numbers_keep_their_values_in_any_text(lines: list[str], seed: int) -> None:
    text = ". ".join(line[0].upper() + line[1:] for line in lines)
    told = reword(text, seed)
    assert values(told) == values(text)
    assert len(NEGATION.findall(told)) == len(NEGATION.findall(text))


@given(st.text(max_size=200), st.integers(0, 2**63))
def test_any_text_is_survived(text: str, seed: int) -> None:
    told = reword(text, seed)
    assert bool(told.strip()) == bool(text.strip())


def test_seeds_give_different_wordings() -> None:
    assert len({reword(TEXTS[0], seed) for seed in range(12)}) > 6


def test_what_refers_back_keeps_its_place() -> None:
    text = "Arden is old. Belmont is new. It has walls. Corsica is far. Dunmore is near."
    for seed in range(40):
        told = sentences(reword(text, seed))
        assert "Arden" in told[0]
        walls = next(i for i, sentence in enumerate(told) if "walls" in sentence)
        assert "Belmont" in told[walls - 1]


@pytest.mark.parametrize(
    ("text", "forms"),
    [
        ("It has 45% of them.", {"45%", "45 percent"}),
        ("It has 12,500 lamps.", {"12,500", "12500"}),
        ("They saw 3 ships there.", {"3", "three"}),
        ("They saw three ships there.", {"3", "three"}),
        ("It has 1,950 lamps.", {"1,950"}),
        ("It was so in 1950.", {"1950"}),
        ("It is a type 2 case.", {"2"}),
        ("Call 18008608747 now.", {"18008608747"}),
    ],
)
def test_formats(text: str, forms: set[str]) -> None:
    seen = {
        next(form for form in sorted(forms, key=len, reverse=True) if form in reword(text, s))
        for s in range(60)
    }
    assert seen == forms


def test_parentheses_and_clauses_with_figures_or_negations_stay() -> None:
    text = "The town (about 300 people) lies north (not south), which has 3 gates. It is red (very red), such as brick walls."
    for seed in range(40):
        told = reword(text, seed)
        assert "(not south)" in told
        assert re.search(r"\((?:about|around|approximately|roughly|nearly) 300", told), told
        assert re.search(r"(?:3|three) gates", told)
    assert any("very red" not in reword(text, seed) for seed in range(40))
