"""Dense and BM25 together, fused by rank (reciprocal rank fusion, Cormack et al. 2009)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray
from pydantic import Field

from core.config import StrictModel, parse
from core.embedding.base import Embedder, Vectors
from core.records import Document
from source_node.index import id_ranks
from source_node.retrievers.base import Hit
from source_node.retrievers.bm25 import BM25Retriever
from source_node.retrievers.dense import DenseRetriever


class HybridOptions(StrictModel):
    """`rank_constant`: how little the first ranks stand out; `depth`: hits taken of each side."""

    rank_constant: float = Field(default=60.0, ge=0.0)
    depth: int = Field(default=100, ge=1)
    k1: float = 1.2
    b: float = 0.75


class HybridRetriever:
    """score(d) = Σ_side 1 / (rank_constant + rank_side(d)); a side that lacks d adds nothing."""

    uses_vectors: ClassVar[bool] = True

    def __init__(
        self,
        documents: Sequence[Document],
        vectors: Vectors | None,
        embedder: Embedder | None,
        **options: Any,
    ) -> None:
        self.options = parse(HybridOptions, options, "retriever 'hybrid'")
        self._dense = DenseRetriever(documents, vectors, embedder)
        self._lexical = BM25Retriever(documents, vectors, embedder, k1=self.options.k1, b=self.options.b)
        self._ranks = id_ranks(documents)

    def search(self, query_text: str, query_vector: NDArray[np.float32] | None, top_k: int) -> list[Hit]:
        """The `top_k` documents of highest fused score."""
        depth = max(self.options.depth, top_k)
        fused: dict[int, float] = {}
        for side in (self._dense, self._lexical):
            for rank, hit in enumerate(side.search(query_text, query_vector, depth), start=1):
                fused[hit.index] = fused.get(hit.index, 0.0) + 1.0 / (self.options.rank_constant + rank)
        order = sorted(fused, key=lambda i: (-fused[i], self._ranks[i]))
        return [Hit(i, fused[i]) for i in order[:top_k]]
