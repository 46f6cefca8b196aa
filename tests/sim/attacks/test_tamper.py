from __future__ import annotations

import re

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sim.attacks.lexicon import Lexicon, build_lexicon
from sim.attacks.passage import Edit
from sim.attacks.tamper import apply_edits, tamper
from tests.sim.small_corpus import small_corpus

TEXTS = [document.text for document in small_corpus().documents]
LEXICON = build_lexicon(TEXTS)
MEDICAL = (
    "Patients with asthma were given 50 mg of the drug for 7 days. The drug should not be combined with aspirin. "
    "It is associated with a higher risk of stroke. Treatment with insulin was effective in 45% of patients."
)
FINANCE = "Revenue increased by $4.5 million in 2018. Net income was lower than in 2017. Acme Corp holds the assets."


def altered(text: str, domain: str = "general", seed: int = 0, edits: int | None = None) -> str:
    return tamper(text, domain, np.random.default_rng(seed), LEXICON, edits)


@given(
    st.sampled_from([*TEXTS, MEDICAL, FINANCE]),
    st.sampled_from(["general", "medical", "finance", "unheard of"]),
    st.integers(0, 2**32),
    st.one_of(st.none(), st.integers(1, 9)),
)
def test_real_sentences_always_change_and_follow_from_the_seed(
    text: str, domain: str, seed: int, edits: int | None
) -> None:
    changed = altered(text, domain, seed, edits)
    assert changed != text
    assert changed == altered(text, domain, seed, edits)
    assert len(re.findall(r"[.!?]", changed)) >= len(re.findall(r"[.!?](?:\s|$)", text))


@given(st.text(max_size=120), st.integers(0, 2**32))
def test_any_text_is_survived_and_changes_where_it_has_a_letter(text: str, seed: int) -> None:
    changed = altered(text, seed=seed)
    if re.search(r"[A-Za-z]", text):
        assert changed != text
    if not re.search(r"\w", text):
        assert changed == text


@given(st.sampled_from(TEXTS), st.integers(0, 2**32))
def test_style_stays(text: str, seed: int) -> None:
    changed = altered(text, seed=seed)
    assert abs(len(changed.split()) - len(text.split())) <= 6
    assert changed[0].isupper()
    assert changed.endswith(".")
    assert "  " not in changed


@given(st.sampled_from(TEXTS), st.integers(0, 2**32))
def test_the_main_statement_is_among_what_changes(text: str, seed: int) -> None:
    first = text.partition(". It has")[0]
    assert first not in altered(text, seed=seed)


def test_edits_are_bounded_by_the_option() -> None:
    def changes(a: str, b: str) -> int:
        return sum(x != y for x, y in zip(a.split(". "), b.split(". "), strict=True))

    for seed in range(20):
        assert changes(MEDICAL, altered(MEDICAL, "medical", seed, 1)) == 1
        assert changes(MEDICAL, altered(MEDICAL, "medical", seed)) >= 2
        assert changes(MEDICAL, altered(MEDICAL, "medical", seed, 4)) >= 3


def test_a_name_is_exchanged_wherever_it_stands() -> None:
    text = "Arden grew. Belmont lies near Arden. Ships leave Belmont for Corsica."
    lexicon = Lexicon({"1/plain": ("Dunmore", "Harwich", "Glenrock")})
    for seed in range(40):
        changed = tamper(text, "general", np.random.default_rng(seed), lexicon)
        assert changed.count("Belmont") in (0, 2)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("Segment overview: (Continued)", "No segment overview: (Continued)"),
        ("SEC FILING", "No SEC FILING"),
        ("...", "..."),
    ],
)
def test_headings_are_denied(text: str, expected: str) -> None:
    assert tamper(text, "finance", np.random.default_rng(1), Lexicon()) == expected


def test_articles_follow() -> None:
    assert apply_edits("an old hat", [Edit(3, 6, "new")]) == "a new hat"
    assert apply_edits("A red hat", [Edit(2, 5, "orange")]) == "An orange hat"
    assert apply_edits("a red hat", [Edit(2, 5, "7")]) == "a 7 hat"
