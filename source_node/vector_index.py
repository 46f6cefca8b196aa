"""The k nearest of a node's vectors: exact by numpy up to 100,000, half-precision by faiss above.

Both give the same order: best cosine first, equal ones by document id.
"""

from __future__ import annotations

import importlib.util
import logging
from typing import Literal, Protocol

import numpy as np
from numpy.typing import NDArray

from core.embedding.base import Vectors
from core.errors import EmbeddingError
from source_node.index import best, cosine_scores

_LOG = logging.getLogger(__name__)
EXACT_UP_TO = 100_000
Kind = Literal["auto", "exact", "faiss"]


class VectorIndex(Protocol):
    """Searches the unit rows that it was made over; safe for many threads."""

    def search(self, query: NDArray[np.float32], k: int) -> tuple[NDArray[np.intp], NDArray[np.float32]]:
        """(rows, cosines) of the `k` nearest, best first.

        Shapes: query (d,), unit; both results (min(k, n),).

        Raises:
            EmbeddingError: a query of another dimension.
        """
        ...


class ExactIndex:
    """One product with all vectors, which may be mapped from disk."""

    def __init__(self, vectors: Vectors, ranks: NDArray[np.int32]) -> None:
        self._vectors, self._ranks = vectors, ranks

    def search(self, query: NDArray[np.float32], k: int) -> tuple[NDArray[np.intp], NDArray[np.float32]]:
        scores = cosine_scores(self._vectors, query)
        found = best(scores, k, self._ranks)
        return found, scores[found]


def open_index(vectors: Vectors, ranks: NDArray[np.int32], kind: Kind = "auto") -> VectorIndex:
    """The index of `kind` over `vectors` (n, d) with the order of ids in `ranks` (n,).

    `auto`: by size; where faiss is due and not installed, exact with a warning in the log.

    Raises:
        MissingPackageError: `faiss` was asked for and is not installed.
    """
    if kind == "auto":
        kind = "exact"
        if len(vectors) > EXACT_UP_TO:
            if importlib.util.find_spec("faiss") is not None:
                kind = "faiss"
            else:
                _LOG.warning(
                    "%d vectors are searched by numpy; faster: pip install 'securecollarag[faiss]'",
                    len(vectors),
                )
    if kind == "exact" or not len(vectors):
        return ExactIndex(vectors, ranks)
    from source_node.faiss_index import FaissIndex

    return FaissIndex(vectors, ranks)


def check_query(query: NDArray[np.float32], dimension: int) -> None:
    """Nothing, if `query` is one vector of `dimension`.

    Raises:
        EmbeddingError: it is not.
    """
    if query.shape != (dimension,):
        raise EmbeddingError(f"the query has {query.shape}, the documents {(dimension,)}")
