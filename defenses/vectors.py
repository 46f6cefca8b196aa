"""Vectors for stages that judge by similarity: the round's own where it has them, else embedded here."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from core.embedding.base import Embedder
from core.stage import StageInput


def document_vectors(given: StageInput, embedder: Embedder | None) -> NDArray[np.float32] | None:
    """(n, d) unit rows of the documents' texts; None where there is neither a vector nor an embedder."""
    if given.vectors is not None:
        return given.vectors
    if embedder is None:
        return None
    return embedder.embed([document.text for document in given.documents])


def mean_pairwise_cosine(vectors: NDArray[np.float32]) -> float:
    """Mean cosine of all pairs of unit rows; 0 where there is no pair."""
    n = len(vectors)
    if n < 2:
        return 0.0
    rows = vectors.astype(np.float64)
    return (float(np.square(rows.sum(0)).sum()) - float(np.square(rows).sum())) / (n * (n - 1))
