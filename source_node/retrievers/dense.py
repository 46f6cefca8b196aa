"""Cosine search over the vectors of all documents."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from core.config import StrictModel, parse
from core.embedding.base import Embedder, Vectors
from core.errors import ConfigError
from core.records import Document
from source_node.index import check_shape, cosine_scores, embed_documents, id_ranks
from source_node.retrievers.base import Hit
from source_node.vector_index import Kind, open_index


class DenseOptions(StrictModel):
    """`index`: `exact` (numpy), `faiss` (fp16), or `auto`, which goes by the number of documents."""

    index: Kind = "auto"


class DenseRetriever:
    """Highest cosine first; without `vectors`, the documents are embedded here.

    Raises:
        ConfigError: neither vectors nor an embedder, or vectors that do not fit the documents.
    """

    uses_vectors: ClassVar[bool] = True
    independent_scores: ClassVar[bool] = True

    def __init__(
        self,
        documents: Sequence[Document],
        vectors: Vectors | None,
        embedder: Embedder | None,
        **options: Any,
    ) -> None:
        settings = parse(DenseOptions, options, "retriever 'dense'")
        if vectors is None:
            if embedder is None:
                raise ConfigError("retriever 'dense' needs vectors or an embedder; 'bm25' needs neither")
            vectors = embed_documents(documents, embedder)
        self._vectors = check_shape(documents, vectors)
        self._index = open_index(self._vectors, id_ranks(documents), settings.index)

    def scores(self, query_text: str, query_vector: NDArray[np.float32] | None) -> NDArray[np.float32]:
        """(n,) cosine of every document to the question, in [-1, 1]."""
        if query_vector is None:
            raise ConfigError("retriever 'dense' needs an embedder for the question")
        return cosine_scores(self._vectors, query_vector)

    def search(self, query_text: str, query_vector: NDArray[np.float32] | None, top_k: int) -> list[Hit]:
        """The `top_k` documents of highest cosine, whatever that is."""
        if query_vector is None:
            raise ConfigError("retriever 'dense' needs an embedder for the question")
        rows, scores = self._index.search(query_vector, top_k)
        return [Hit(row, score) for row, score in zip(rows.tolist(), scores.tolist(), strict=True)]
