"""Collections elsewhere that hold an institution's documents and vectors, by kind."""

from __future__ import annotations

from core.registry import Registry

BACKENDS = Registry(
    "backend",
    "securecollarag.backends",
    {
        "qdrant": "source_node.backends.qdrant:QdrantCollection",
        "pgvector": "source_node.backends.pgvector:PgvectorCollection",
    },
    extra="backends",
)
