"""Dense retrieval is exact, its ties are by id."""

from __future__ import annotations

import numpy as np
import pytest

from core.embedding.hashing import HashingEmbedder
from core.errors import ConfigError
from core.records import Document
from source_node.index import embed_documents
from source_node.retrievers.dense import DenseRetriever

DOCUMENTS = [
    Document(f"d{i}", text)
    for i, text in enumerate(["zinc ore", "copper wire", "gold rush", "zinc oxide cream", "copper wire"])
]
EMBEDDER = HashingEmbedder(64)


def ask(retriever: DenseRetriever, question: str, k: int) -> list[int]:
    return [hit.index for hit in retriever.search(question, EMBEDDER.embed([question])[0], k)]


def test_the_nearest_come_first_and_equal_ones_by_id() -> None:
    retriever = DenseRetriever(DOCUMENTS, embed_documents(DOCUMENTS, EMBEDDER), EMBEDDER)
    assert ask(retriever, "copper wire", 2) == [1, 4]
    assert set(ask(retriever, "zinc", 2)) == {0, 3}
    assert sorted(ask(retriever, "anything", 50)) == [0, 1, 2, 3, 4]


def test_scores_are_cosines() -> None:
    vectors = embed_documents(DOCUMENTS, EMBEDDER)
    question = EMBEDDER.embed(["copper"])[0]
    scores = DenseRetriever(DOCUMENTS, vectors, None).scores("copper", question)
    np.testing.assert_allclose(scores, vectors @ question, atol=1e-6)


def test_documents_without_vectors_are_embedded() -> None:
    with_vectors = DenseRetriever(DOCUMENTS, embed_documents(DOCUMENTS, EMBEDDER), EMBEDDER)
    assert ask(DenseRetriever(DOCUMENTS, None, EMBEDDER), "gold", 3) == ask(with_vectors, "gold", 3)


def test_what_it_lacks_is_named() -> None:
    with pytest.raises(ConfigError, match="needs vectors or an embedder"):
        DenseRetriever(DOCUMENTS, None, None)
    with pytest.raises(ConfigError, match="5 documents need as many vectors"):
        DenseRetriever(DOCUMENTS, np.ones((4, 64), dtype=np.float32), EMBEDDER)
    with pytest.raises(ConfigError, match="needs an embedder for the question"):
        DenseRetriever(DOCUMENTS, np.ones((5, 64), dtype=np.float32), None).search("zinc", None, 1)
    with pytest.raises(ConfigError, match="unknown key 'speed'"):
        DenseRetriever(DOCUMENTS, None, EMBEDDER, speed=1)
