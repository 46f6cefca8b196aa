"""Reciprocal rank fusion by hand."""

from __future__ import annotations

import pytest

from core.embedding.hashing import HashingEmbedder
from core.errors import ConfigError
from core.records import Document
from source_node.retrievers.bm25 import BM25Retriever
from source_node.retrievers.dense import DenseRetriever
from source_node.retrievers.hybrid import HybridRetriever

EMBEDDER = HashingEmbedder(64)
DOCUMENTS = [
    Document(f"d{i}", text)
    for i, text in enumerate(
        [
            "zinc ore mined",
            "copper wire",
            "gold rush",
            "zinc oxide cream",
            "copper wires",
            "iron gate",
            "zincs",
        ]
    )
]


def test_the_fused_score_adds_reciprocal_ranks_of_both_sides() -> None:
    question = "zinc cream"
    vector = EMBEDDER.embed([question])[0]
    expected: dict[int, float] = {}
    for side in (DenseRetriever(DOCUMENTS, None, EMBEDDER), BM25Retriever(DOCUMENTS, None, EMBEDDER)):
        for rank, hit in enumerate(side.search(question, vector, 100), start=1):
            expected[hit.index] = expected.get(hit.index, 0.0) + 1 / (60 + rank)
    hits = HybridRetriever(DOCUMENTS, None, EMBEDDER).search(question, vector, 4)
    assert {hit.index: hit.score for hit in hits} == {
        i: expected[i] for i in sorted(expected, key=lambda i: (-expected[i], i))[:4]
    }
    assert hits[0].index == 3


def test_depth_limits_what_each_side_gives() -> None:
    vector = EMBEDDER.embed(["zinc"])[0]
    shallow = HybridRetriever(DOCUMENTS, None, EMBEDDER, depth=1)
    assert len(shallow.search("zinc", vector, 1)) == 1
    assert len(shallow.search("zinc", vector, 5)) == 5, "never shallower than what was asked for"


def test_the_options_of_both_sides_are_checked() -> None:
    with pytest.raises(ConfigError, match="retriever 'hybrid': unknown key 'k'"):
        HybridRetriever(DOCUMENTS, None, EMBEDDER, k=60)
    with pytest.raises(ConfigError, match="retriever 'bm25': b"):
        HybridRetriever(DOCUMENTS, None, EMBEDDER, b=7)
