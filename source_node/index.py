"""What every retriever shares: the text that is searched, exact cosine scores, and a stable top-k."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from core.embedding.base import Embedder, Vectors
from core.errors import ConfigError, EmbeddingError
from core.records import Document

_ROWS = 65_536  # rows scored at once: what is mapped from disk passes in pieces
_DECIMALS = 6  # float32 products of equal vectors may differ beyond this, by where they stand


def searchable(document: Document) -> str:
    """What is embedded and indexed of a document: its title, if it has one, and its text."""
    title = document.title.strip()
    return f"{title}. {document.text}" if title else document.text


def embed_documents(documents: Sequence[Document], embedder: Embedder, batch: int = 512) -> Vectors:
    """(n, d) float32 unit rows of `documents`, in order and in fixed batches.

    Raises:
        EmbeddingError: the embedder failed or gave vectors of a wrong shape or with NaN.
    """
    parts = [
        checked_vectors(
            embedder, [searchable(documents[i]) for i in range(start, min(start + batch, len(documents)))]
        )
        for start in range(0, len(documents), batch)
    ]
    return np.concatenate(parts) if parts else np.zeros((0, embedder.dimension), dtype=np.float32)


def checked_vectors(embedder: Embedder, texts: Sequence[str]) -> Vectors:
    """(len(texts), d) finite float32 rows.

    Raises:
        EmbeddingError: the embedder gave anything else.
    """
    vectors = np.asarray(embedder.embed(texts), dtype=np.float32)
    wanted = (len(texts), embedder.dimension)
    if vectors.shape != wanted:
        raise EmbeddingError(f"embedder {embedder.identity} gave {vectors.shape} where {wanted} was due")
    if not np.isfinite(vectors).all():
        raise EmbeddingError(f"embedder {embedder.identity} gave a vector with NaN")
    return vectors


def check_shape(documents: Sequence[Document], vectors: Vectors) -> Vectors:
    """`vectors` if they are one row a document.

    Raises:
        ConfigError: they are not.
    """
    if vectors.ndim != 2 or len(vectors) != len(documents):
        raise ConfigError(f"{len(documents)} documents need as many vectors, not shape {vectors.shape}")
    return vectors


def cosine_scores(vectors: Vectors, query_vector: NDArray[np.float32]) -> NDArray[np.float32]:
    """(n,) inner products of unit rows with a unit query, rounded so that equal texts score equally."""
    if query_vector.shape != vectors.shape[1:]:
        raise EmbeddingError(f"the query has {query_vector.shape}, the documents {vectors.shape[1:]}")
    scores = np.empty(len(vectors), dtype=np.float32)
    for start in range(0, len(vectors), _ROWS):
        np.dot(vectors[start : start + _ROWS], query_vector, out=scores[start : start + _ROWS])
    return np.round(scores, _DECIMALS, out=scores)


def id_ranks(documents: Sequence[Document]) -> NDArray[np.int32]:
    """(n,) position of each document in the order of the ids, by which ties are broken."""
    stored = getattr(documents, "id_ranks", None)  # a store answers without loading its documents
    if stored is not None:
        return np.asarray(stored(), dtype=np.int32)
    order = sorted(range(len(documents)), key=lambda i: documents[i].doc_id)
    ranks = np.empty(len(documents), dtype=np.int32)
    ranks[order] = np.arange(len(documents), dtype=np.int32)
    return ranks


def best(scores: NDArray[np.floating], k: int, ranks: NDArray[np.int32]) -> NDArray[np.intp]:
    """Indices of the `k` highest scores, best first; equal scores in the order of `ranks`."""
    k = min(k, len(scores))
    if k == 0:
        return np.empty(0, dtype=np.intp)
    threshold = np.partition(scores, len(scores) - k)[len(scores) - k]
    candidates = np.flatnonzero(scores >= threshold)
    order = np.lexsort((ranks[candidates], -scores[candidates]))[:k]
    return candidates[order]
