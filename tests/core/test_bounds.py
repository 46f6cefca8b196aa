"""Every bound of the wire holds exactly at its limit."""

from __future__ import annotations

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from core import bounds
from core.errors import WireError
from core.records import RetrievedDocument
from core.verdict import Action


@given(st.text(max_size=40), st.integers(0, 60))
def test_a_text_passes_iff_its_utf8_fits_and_it_says_something(value: str, limit: int) -> None:
    usable = not any("\ud800" <= c <= "\udfff" for c in value)
    fits = usable and len(value.encode("utf-8", "surrogatepass")) <= limit and bool(value.strip())
    try:
        assert bounds.text(value, "text", limit) == value
        assert fits
    except WireError:
        assert not fits


def test_bytes_count_and_not_characters() -> None:
    assert bounds.identifier("é" * 128, "id") == "é" * 128
    with pytest.raises(WireError, match="id has 258 bytes, more than 256"):
        bounds.identifier("é" * 129, "id")


def test_a_lone_surrogate_is_named() -> None:
    with pytest.raises(WireError, match="lone surrogate"):
        bounds.text("a\ud800", "text of 'd'", 100)


@pytest.mark.parametrize("value", [math.nan, math.inf, -math.inf, 1.5, -0.1])
def test_a_number_outside_its_range_is_refused(value: float) -> None:
    with pytest.raises(WireError, match="credibility"):
        bounds.number(value, "credibility", 0.0, 1.0)


def test_a_number_at_its_limits_passes() -> None:
    assert [bounds.number(v, "x", 0.0, 1.0) for v in (0.0, 1.0)] == [0.0, 1.0]


@pytest.mark.parametrize("top_k", [0, -1, 101])
def test_top_k_has_a_range(top_k: int) -> None:
    with pytest.raises(WireError, match=r"outside \[1, 100\]"):
        bounds.count_asked(top_k)


def test_counts_end_where_they_should() -> None:
    assert bounds.counted(iter("abc"), "letters", 3) == ["a", "b", "c"]
    with pytest.raises(WireError, match="3 letters, more than 2"):
        bounds.counted("abc", "letters", 2)


def test_an_unknown_member_is_refused() -> None:
    assert bounds.member(Action, "drop", "action") is Action.DROP
    with pytest.raises(WireError, match="unknown action 'explode'"):
        bounds.member(Action, "explode", "action")


def test_the_same_id_may_stand_at_two_sources_but_not_twice_at_one() -> None:
    a, b = RetrievedDocument("s1", "d", "x"), RetrievedDocument("s2", "d", "x")
    assert bounds.distinct([a, b]) == [a, b]
    with pytest.raises(WireError, match="several documents"):
        bounds.distinct([a, a])


@pytest.mark.parametrize(
    ("change", "problem"),
    [
        ({"doc_id": " "}, "doc_id is empty"),
        ({"text": "\n\t"}, "text of 'd' is empty"),
        ({"text": "x" * 262_145}, "262145 bytes, more than 262144"),
        ({"title": "x" * 4_097}, "title of 'd'"),
        ({"category": "x" * 257}, "category of 'd'"),
        ({"score": math.nan}, "score of 'd' is not a finite number"),
        ({"score": 1e300}, "score of 'd'"),
    ],
)
def test_a_document_out_of_bounds_is_named(change: dict[str, object], problem: str) -> None:
    with pytest.raises(WireError, match=problem):
        bounds.document(RetrievedDocument(**{"source_id": "s", "doc_id": "d", "text": "t", **change}))
