"""Chunks: everything is in one, nothing moves that need not."""

from __future__ import annotations

import itertools

import pytest
from hypothesis import given
from hypothesis import strategies as st

from core.config import parse
from core.errors import ConfigError
from core.records import Document
from source_node.chunking import Chunking


@given(st.integers(0, 200), st.integers(8, 40), st.data())
def test_chunks_cover_the_text_in_order_and_overlap(count: int, words: int, data: st.DataObject) -> None:
    overlap = data.draw(st.integers(0, words // 2))
    text = " ".join(f"w{i}" for i in range(count))
    pieces = Chunking(words=words, overlap=overlap).pieces(Document("d", text, "T", "c"))
    if count <= words:
        assert pieces == [Document("d", text, "T", "c")]
        return
    assert [piece.doc_id for piece in pieces] == [f"d#{k}" for k in range(1, len(pieces) + 1)]
    assert {(piece.title, piece.category) for piece in pieces} == {("T", "c")}
    held = [piece.text.split() for piece in pieces]
    assert all(len(piece) <= words for piece in held)
    joined = held[0]
    for before, piece in itertools.pairwise(held):
        assert overlap == 0 or before[-overlap:] == piece[:overlap]
        joined = joined + piece[overlap:]
    assert joined == text.split()


def test_a_text_that_grows_keeps_its_first_chunks() -> None:
    chunking = Chunking(words=10, overlap=2)
    short = chunking.pieces(Document("d", " ".join(map(str, range(50)))))
    long = chunking.pieces(Document("d", " ".join(map(str, range(80)))))
    assert long[: len(short) - 1] == short[:-1]


def test_a_text_without_blanks_is_cut_too() -> None:
    pieces = Chunking(words=10).pieces(Document("d", "x" * 100_000))
    assert "".join(piece.text for piece in pieces) == "x" * 100_000
    assert max(len(piece.text) for piece in pieces) < 65_536


def test_an_overlap_that_gets_nowhere_is_refused() -> None:
    with pytest.raises(ConfigError, match="overlap must be at most half of words"):
        parse(Chunking, {"words": 10, "overlap": 6}, "here")
