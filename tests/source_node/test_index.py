"""Top-k with ties by id, exact cosines, checked vectors."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from core.embedding.hashing import HashingEmbedder
from core.errors import ConfigError, EmbeddingError
from core.records import Document
from source_node.index import (
    best,
    check_shape,
    checked_vectors,
    cosine_scores,
    embed_documents,
    id_ranks,
    searchable,
)


@given(st.lists(st.sampled_from([0.0, 0.25, 0.5, -1.0]), max_size=60), st.integers(0, 70), st.randoms())
def test_best_equals_a_full_sort(values: list[float], k: int, random) -> None:
    order = list(range(len(values)))
    random.shuffle(order)
    ranks = np.array(order, dtype=np.int32)
    wanted = sorted(range(len(values)), key=lambda i: (-values[i], order[i]))[:k]
    assert best(np.array(values, dtype=np.float32), k, ranks).tolist() == wanted


@given(st.lists(st.text(max_size=5), unique=True, max_size=30))
def test_ranks_are_the_order_of_the_ids(ids: list[str]) -> None:
    ranks = id_ranks([Document(doc_id, "t") for doc_id in ids])
    assert [ids[i] for i in np.argsort(ranks)] == sorted(ids)


def test_equal_vectors_score_equally_wherever_they_stand() -> None:
    rng = np.random.default_rng(0)
    vectors = rng.normal(size=(1001, 37)).astype(np.float32)
    vectors /= np.linalg.norm(vectors, axis=1, keepdims=True)
    vectors[[3, 500, 777, 1000]] = vectors[0]
    scores = cosine_scores(vectors, vectors[5])
    assert len(set(scores[[0, 3, 500, 777, 1000]].tolist())) == 1
    np.testing.assert_allclose(scores, vectors @ vectors[5], atol=1e-6)


def test_a_query_of_another_dimension_is_refused() -> None:
    with pytest.raises(EmbeddingError, match=r"the query has \(3,\), the documents \(2,\)"):
        cosine_scores(np.eye(2, dtype=np.float32), np.ones(3, dtype=np.float32))


def test_titles_are_searched_too() -> None:
    assert searchable(Document("d", "Text.", "Title")) == "Title. Text."
    assert searchable(Document("d", "Text.", " ")) == "Text."


def test_documents_are_embedded_in_batches_in_order() -> None:
    documents = [Document(str(i), f"word{i} and more") for i in range(7)]
    embedder = HashingEmbedder(32)
    whole = embedder.embed([searchable(d) for d in documents])
    np.testing.assert_array_equal(embed_documents(documents, embedder, batch=3), whole)
    assert embed_documents([], embedder).shape == (0, 32)


class Broken(HashingEmbedder):
    """Gives whatever it is told to."""

    def __init__(self, vectors: np.ndarray) -> None:
        super().__init__(2)
        self.vectors = vectors

    def embed(self, texts):
        return self.vectors


def test_useless_vectors_are_refused() -> None:
    with pytest.raises(EmbeddingError, match=r"gave \(1, 2\) where \(2, 2\) was due"):
        checked_vectors(Broken(np.ones((1, 2))), ["a", "b"])
    with pytest.raises(EmbeddingError, match="NaN"):
        checked_vectors(Broken(np.array([[np.nan, 1.0]])), ["a"])
    with pytest.raises(ConfigError, match="1 documents need as many vectors"):
        check_shape([Document("a", "t")], np.ones((2, 2), dtype=np.float32))
