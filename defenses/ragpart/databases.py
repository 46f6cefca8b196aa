"""The C(N,k) databases in the literal form of the paper: the naive baseline, and a yardstick for tests."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import combinations

import numpy as np
from numpy.typing import NDArray

from core.embedding.base import Embedder, Vectors
from core.errors import ConfigError
from defenses.ragpart.fragments import fragments, membership
from defenses.ragpart.poll import Poll, in_top


class Databases:
    """C databases of D vectors each, one top-p list from each.

    Args:
        vectors: (C, D, d) float32.
    """

    def __init__(self, vectors: Vectors) -> None:
        self.vectors = vectors
        self.n_lists, self.n_documents, self.dimension = vectors.shape

    @classmethod
    def averaged(cls, vectors: Vectors, combine: int, *, cosine: bool = False) -> Databases:
        """RAGPart's databases: means of `combine` of the (D, N, d) fragment `vectors`."""
        chosen = combinations(range(vectors.shape[1]), combine)
        count = membership(vectors.shape[1], combine).shape[1]
        out = np.empty((count, vectors.shape[0], vectors.shape[2]), dtype=np.float32)
        for row, rows in zip(out, chosen, strict=True):
            vectors[:, list(rows)].sum(axis=1, out=row)
            if cosine:
                squares = np.einsum("nd,nd->n", row, row)
                row /= np.sqrt(np.where(squares > 1e-12, squares, np.float32(1.0)))[:, None]
            else:
                row /= np.float32(combine)
        return cls(out)

    @classmethod
    def mixed(cls, texts: Sequence[str], n_fragments: int, combine: int, embedder: Embedder) -> Databases:
        """The naive baseline: `combine` of N fragments joined as text, in order, then embedded."""
        count = membership(n_fragments, combine).shape[1]
        cut = [fragments(text, n_fragments) for text in texts]
        mixes = [" ".join(mix) for pieces in cut for mix in combinations(pieces, combine)]
        vectors = np.asarray(embedder.embed(mixes), dtype=np.float32)
        return cls(np.ascontiguousarray(vectors.reshape(len(texts), count, -1).transpose(1, 0, 2)))

    @property
    def nbytes(self) -> int:
        """Bytes held."""
        return self.vectors.nbytes

    def poll(self, query: NDArray[np.float32], p: int) -> Poll:
        """Votes of the top-`p` lists for the (d,) vector `query`."""
        scores = self._scores(query, p)
        return Poll(
            np.arange(self.n_documents),
            np.count_nonzero(in_top(scores, p), axis=0),
            scores.mean(axis=0),
            self.n_lists,
        )

    def lists(self, query: NDArray[np.float32], p: int) -> tuple[NDArray[np.intp], NDArray[np.float32]]:
        """The lists, best first, and their scores: both (C, min(p, D)); equal scores: earlier row first."""
        scores = self._scores(query, p)
        order = np.argsort(-scores, axis=1, kind="stable")[:, :p]
        return order, np.take_along_axis(scores, order, axis=1)

    def _scores(self, query: NDArray[np.float32], p: int) -> NDArray[np.float32]:
        if p < 1:
            raise ConfigError(f"top-p must be at least 1, not {p}")
        flat = self.vectors.reshape(-1, self.dimension) @ np.ascontiguousarray(query, dtype=np.float32)
        return np.asarray(flat.reshape(self.n_lists, self.n_documents), dtype=np.float32)
