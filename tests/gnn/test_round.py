from __future__ import annotations

import numpy as np

from gnn.round import prepare_round
from tests.gnn.parts import EMBEDDER, OTHER, QUESTION, TRUE, a_round, candidate


def test_shapes_columns_and_offsets() -> None:
    given = a_round([(f"{TRUE} {OTHER}", ["b", "a"]), (OTHER, ["c"])])
    assert given.sources == ("a", "b", "c")
    assert given.holders.tolist() == [[True, True, False], [False, False, True]]
    assert [len(own) for own in given.sentences] == [2, 1]
    assert given.sentence_vectors.shape == (3, EMBEDDER.dimension)
    assert given.vectors.shape == (2, EMBEDDER.dimension)
    assert given.question_vector.shape == (EMBEDDER.dimension,)
    assert given.texts == [f"{TRUE} {OTHER}", OTHER]


def test_vectors_that_are_given_are_used() -> None:
    vectors = np.ones((1, EMBEDDER.dimension), np.float32)
    given = prepare_round(
        QUESTION, [candidate(TRUE, "a")], EMBEDDER, vectors=vectors, question_vector=vectors[0]
    )
    assert given.vectors is vectors
    assert given.question_vector is not None


def test_columns_follow_the_given_sources() -> None:
    given = a_round([(TRUE, ["b"])], sources=["b", "a"])
    assert given.sources == ("b", "a")
    assert given.holders.tolist() == [[True, False]]


def test_no_documents() -> None:
    given = a_round([], sources=["a", "b"])
    assert given.holders.shape == (0, 2)
    assert given.sentence_vectors.shape == (0, EMBEDDER.dimension)
