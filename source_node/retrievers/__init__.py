"""Retrievers by name; each is imported when it is first asked for."""

from __future__ import annotations

from core.registry import Registry

RETRIEVERS = Registry(
    "retriever",
    "securecollarag.retrievers",
    {
        "dense": "source_node.retrievers.dense:DenseRetriever",
        "bm25": "source_node.retrievers.bm25:BM25Retriever",
        "hybrid": "source_node.retrievers.hybrid:HybridRetriever",
        "ragpart": "source_node.retrievers.ragpart:RagPartRetriever",
        "ragmask": "source_node.retrievers.ragmask:RagMaskRetriever",
    },
)
DEFAULT_RETRIEVER = "dense"
