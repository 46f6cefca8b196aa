from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sim.attacks.numbers import figures, other_number, perturb_numbers, value_of


def kinds(text: str) -> list[tuple[str, str]]:
    return [(f.text, f.kind) for f in figures(text)]


def test_what_counts_as_a_number() -> None:
    assert kinds("In 1969, on July 20, 3 men and 1,200 guests; 4.5% of 12000.") == [
        ("1969", "year"), ("20", "day"), ("3", "plain"), ("1,200", "plain"), ("4.5", "plain"), ("12000", "plain"),
    ]  # fmt: skip
    assert kinds("the 19th of twelve, on 4 May") == [("19th", "ordinal"), ("twelve", "word"), ("4", "day")]
    assert kinds("It ended at 94,062.") == [("94,062", "plain")]


def test_what_does_not() -> None:
    assert kinds("B12, CA19-9, p53, 9/02/10, 1.2.3, IL-6, COVID-19") == []


@given(st.integers(0, 10**7), st.integers(0, 2**32))
def test_another_number_keeps_the_format(n: int, seed: int) -> None:
    rng = np.random.default_rng(seed)
    for token in (str(n), f"{n:,}", f"{n / 100:.2f}", f"{n / 10:,.1f}"):
        text = f"there were {token} of them"
        (figure,) = figures(text)
        other = other_number(figure, text, rng)
        assert other != token
        assert value_of(other) != value_of(token)
        assert ("," in other) <= ("," in token)
        assert len(other.partition(".")[2]) == len(token.partition(".")[2])


@given(st.integers(0, 2**32))
def test_each_kind_stays_what_it_is(seed: int) -> None:
    rng = np.random.default_rng(seed)
    text = "In 1969, on July 20, the 21st of Twelve and thirty"
    changed = perturb_numbers(text, rng)
    assert [f.kind for f in figures(changed)] == [f.kind for f in figures(text)]
    before, after = figures(text), figures(changed)
    assert all(value_of(a.text) != value_of(b.text) for a, b in zip(before, after, strict=True))
    assert after[3].text[0].isupper()
    assert 1940 < int(after[0].text) <= 2024


@given(st.integers(1, 100), st.integers(0, 2**32))
def test_a_share_stays_at_most_a_hundred_percent(n: int, seed: int) -> None:
    changed = perturb_numbers(f"{n}% of all", np.random.default_rng(seed))
    assert n == 100 or value_of(figures(changed)[0].text) <= 103


@pytest.mark.parametrize(
    ("token", "value"), [("1,000", 1000), ("3.50", 3.5), ("19th", 19), ("seven", 7), ("Ninety", 90), ("0", 0)]
)
def test_values(token: str, value: float) -> None:
    assert value_of(token) == value


def test_text_without_numbers_is_left_alone() -> None:
    assert perturb_numbers("no number here", np.random.default_rng(0)) == "no number here"
