from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from core.embedding.base import unit_rows
from gnn.round import on_grid, prepare_round
from tests.gnn.parts import EMBEDDER, FALSE, OTHER, QUESTION, TRUE, a_round, candidate


def test_shapes_columns_and_offsets() -> None:
    found = a_round([(f"{TRUE} {OTHER}", ["b", "a"]), (OTHER, ["c"])])
    assert found.sources == ("a", "b", "c")
    assert found.holders.tolist() == [[True, True, False], [False, False, True]]
    assert [len(own) for own in found.sentences] == [2, 1]
    assert found.sentence_vectors.shape == (3, EMBEDDER.dimension)
    assert found.vectors.shape == (2, EMBEDDER.dimension)
    assert found.question_vector.shape == (EMBEDDER.dimension,)
    assert found.texts == [f"{TRUE} {OTHER}", OTHER]


def test_vectors_that_are_given_are_used_on_the_grid() -> None:
    own, asked = unit_rows(np.random.default_rng(0).normal(size=(2, EMBEDDER.dimension)))
    found = prepare_round(
        QUESTION, [candidate(TRUE, "a")], EMBEDDER, vectors=own[None], question_vector=asked
    )
    assert np.array_equal(found.vectors, on_grid(own[None]))
    assert np.array_equal(found.question_vector, on_grid(asked))
    assert not np.array_equal(found.vectors[0], own)


def test_columns_follow_the_round_sources() -> None:
    found = a_round([(TRUE, ["b"])], sources=["b", "a"])
    assert found.sources == ("b", "a")
    assert found.holders.tolist() == [[True, False]]


def test_no_documents() -> None:
    found = a_round([], sources=["a", "b"])
    assert found.holders.shape == (0, 2)
    assert found.sentence_vectors.shape == (0, EMBEDDER.dimension)


@given(n=st.integers(1, 9), d=st.sampled_from([3, 64, 384, 1024]), seed=st.integers(0, 10**6))
def test_cosines_on_the_grid_are_exact(n: int, d: int, seed: int) -> None:
    """The same bits as in double precision, in any company and order of summation, and near what they were."""
    rng = np.random.default_rng(seed)
    plain = unit_rows(rng.normal(size=(n, d)))
    vectors = on_grid(plain)
    cosine = vectors @ vectors.T
    assert np.array_equal(cosine, vectors.astype(np.float64) @ vectors.T.astype(np.float64))
    turned = np.ascontiguousarray(vectors[:, ::-1])
    assert np.array_equal(turned[:1] @ turned.T, cosine[:1])
    moved = d**0.5 / 4096  # the most that a vector can move: half a step in every entry
    assert cosine == pytest.approx(plain @ plain.T, abs=2 * moved + moved**2 + 1e-6)


def test_the_cosine_of_a_round_is_that_of_its_documents() -> None:
    round_ = a_round([(TRUE, ["a"]), (FALSE, ["b"]), (OTHER, ["c"])])
    assert np.diagonal(round_.cosine).tolist() == [0.0, 0.0, 0.0]
    assert round_.cosine[0, 1] == round_.vectors[0] @ round_.vectors[1]
    assert round_.cosine[0, 1] > round_.cosine[0, 2]
