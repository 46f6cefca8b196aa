from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from core.embedding.hashing import HashingEmbedder
from core.errors import ConfigError
from defenses.ragpart.fragments import embed_fragments, fragments, membership


@given(st.lists(st.text("ab", min_size=1, max_size=3), min_size=1, max_size=40), st.integers(1, 12))
def test_fragments_are_even_contiguous_and_never_empty(words: list[str], n: int) -> None:
    pieces = [piece.split() for piece in fragments(" ".join(words), n)]
    assert len(pieces) == n
    assert all(pieces)
    lengths = [len(piece) for piece in pieces]
    assert max(lengths) - min(lengths) <= 1
    if len(words) >= n:
        assert [word for piece in pieces for word in piece] == words
    else:
        assert {word for piece in pieces for word in piece} == set(words)


def test_one_word_and_none() -> None:
    assert fragments("word", 3) == ["word"] * 3
    assert fragments(" \n", 3) == ["", "", ""]


def test_a_long_document_keeps_every_word() -> None:
    text = " ".join(f"w{i}" for i in range(10_000))
    assert " ".join(fragments(text, 5)) == text


def test_vectors_of_an_empty_text_are_zero() -> None:
    vectors = embed_fragments(["alpha beta gamma", ""], 2, HashingEmbedder(16))
    assert vectors.shape == (2, 2, 16)
    assert vectors.dtype == np.float32
    np.testing.assert_allclose(np.linalg.norm(vectors[0], axis=1), 1.0, rtol=1e-6)
    assert not vectors[1].any()


def test_membership_lists_every_combination_once() -> None:
    matrix = membership(5, 3)
    assert matrix.shape == (5, 10)
    assert (matrix.sum(axis=0) == 3).all()
    assert len({tuple(column) for column in matrix.T}) == 10
    with pytest.raises(ConfigError, match=r"1\.\.fragments"):
        membership(2, 3)
