"""All C(N,k) fragment combinations scored exactly from N products per document (RAGPart, section 3.1).

The paper builds C(N,k) databases, one for each choice of k fragments, whose rows are the means of k
fragment vectors. A mean's dot product is the mean of the fragments' dot products, so one product of
the (documents x N, d) fragment matrix with the query serves them all; for the cosine, the norm of each
mean follows from the N x N products among a document's fragments. Nothing is approximated.

Lists are formed only for documents that can stand in one. Take any set of candidates: in each list,
its p-th best score bounds the list's cut from below, and so does their minimum over the lists. A
document whose best combination stays below that is in no list.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from core.embedding.base import Vectors
from core.errors import ConfigError
from defenses.ragpart.fragments import membership
from defenses.ragpart.poll import Poll, in_top

_BLOCK = 4_000_000  # scores held at once
_SLACK = 1e-5  # relative room for rounding: a bound and a score are summed in different orders


class FragmentIndex:
    """Fragment vectors of a corpus, searched as if all C(N,k) databases existed.

    Args:
        vectors: (D, N, d) float32, kept without a copy where contiguous.
        combine: k, fragments in a combination; 1 ≤ k ≤ N.
        cosine: score by the cosine of the mean instead of its dot product. The dot product is the
            default and the more robust one: a single fragment that agrees with the query raises the
            dot product of a mean by 1/k, but its cosine by up to 1/√k.

    Raises:
        ConfigError: k is out of range, there are too many combinations, or `vectors` has another shape.
    """

    def __init__(self, vectors: Vectors, combine: int, *, cosine: bool = False) -> None:
        if vectors.ndim != 3:
            raise ConfigError(f"fragment vectors must be (documents, fragments, d), not {vectors.shape}")
        self.vectors = np.ascontiguousarray(vectors, dtype=np.float32)
        self.n_documents, self.n_fragments, self.dimension = vectors.shape
        self.combine = combine
        self._members = membership(self.n_fragments, combine)
        self.n_lists = self._members.shape[1]
        self._flat = self.vectors.reshape(-1, self.dimension)
        self._gram = self.vectors @ self.vectors.transpose(0, 2, 1) if cosine else None
        self._norms = self._norm_range() if cosine else None

    @property
    def nbytes(self) -> int:
        """Bytes held, vectors included."""
        extra = [] if self._gram is None or self._norms is None else [self._gram, self._norms]
        return self.vectors.nbytes + sum(array.nbytes for array in extra)

    def poll(self, query: NDArray[np.float32], p: int) -> Poll:
        """Votes of the C(N,k) top-`p` lists for the (d,) vector `query`; p ≥ 1, above D as good as D."""
        dots, rows = self._contenders(query, p)
        counts = np.zeros(len(rows), dtype=np.intp)
        total = np.zeros(len(rows), dtype=np.float32)
        for columns in self._blocks(len(rows)):
            scores = self._scores(dots, rows, columns)
            counts += np.count_nonzero(in_top(scores, p), axis=0)
            if self._gram is not None:
                total += scores.sum(axis=0)
        means = total / self.n_lists if self._gram is not None else dots.mean(axis=1)
        return Poll(rows, counts, means.astype(np.float32), self.n_lists)

    def lists(self, query: NDArray[np.float32], p: int) -> tuple[NDArray[np.intp], NDArray[np.float32]]:
        """The C(N,k) lists themselves, best first, and their scores: both (C(N,k), min(p, D))."""
        dots, rows = self._contenders(query, p)
        found, values = [], []
        for columns in self._blocks(len(rows)):
            scores = self._scores(dots, rows, columns)
            order = np.argsort(-scores, axis=1, kind="stable")[:, :p]
            found.append(rows[order])
            values.append(np.take_along_axis(scores, order, axis=1))
        return np.concatenate(found), np.concatenate(values)

    def _contenders(self, query: NDArray[np.float32], p: int) -> tuple[NDArray[np.float32], NDArray[np.intp]]:
        """Fragment products (m, N) and rows (m,) of the documents that can stand in a top-p list."""
        if p < 1:
            raise ConfigError(f"top-p must be at least 1, not {p}")
        products = self._flat @ np.ascontiguousarray(query, dtype=np.float32)
        dots = products.reshape(self.n_documents, self.n_fragments)
        sample = max(4 * p, 64)
        if self.n_documents <= sample:
            return dots, np.arange(self.n_documents)
        sums = dots @ np.ones(self.n_fragments, dtype=np.float32)
        likely = np.sort(np.argpartition(-sums, sample - 1)[:sample])
        cut = np.inf
        for columns in self._blocks(sample):
            scores = self._scores(dots[likely], likely, columns)
            cut = min(cut, float(np.partition(scores, sample - p, axis=1)[:, sample - p].min()))
        best = self._best(dots)
        rows = np.flatnonzero(best >= cut - _SLACK * max(1.0, abs(cut)))
        return dots[rows], rows

    def _best(self, dots: NDArray[np.float32]) -> NDArray[np.float32]:
        """(D,) upper bound of each document's score over all combinations; exact for the dot product."""
        k, n = self.combine, self.n_fragments
        top = np.partition(dots, n - k, axis=1)[:, n - k :].sum(axis=1)
        size = np.float32(k) if self._norms is None else np.where(top > 0, self._norms[0], self._norms[1])
        return np.asarray(top / size, dtype=np.float32)

    def _scores(
        self, dots: NDArray[np.float32], rows: NDArray[np.intp], columns: slice
    ) -> NDArray[np.float32]:
        """(c, m) scores of documents `rows` under combinations `columns`."""
        members = self._members[:, columns]
        sums = members.T @ dots.T
        if self._gram is None:
            return sums / np.float32(self.combine)
        return sums / _norms_of(self._gram[rows], members)

    def _blocks(self, rows: int) -> list[slice]:
        width = max(1, _BLOCK // max(1, rows))
        return [slice(start, start + width) for start in range(0, self.n_lists, width)]

    def _norm_range(self) -> NDArray[np.float32]:
        """(2, D) smallest and largest norm of a document's combination sums."""
        assert self._gram is not None
        low = np.full(self.n_documents, np.inf, dtype=np.float32)
        high = np.zeros(self.n_documents, dtype=np.float32)
        for columns in self._blocks(self.n_documents):
            norms = _norms_of(self._gram, self._members[:, columns])
            np.minimum(low, norms.min(axis=0), out=low)
            np.maximum(high, norms.max(axis=0), out=high)
        return np.stack([low, high])


def _norms_of(gram: NDArray[np.float32], members: NDArray[np.float32]) -> NDArray[np.float32]:
    """(c, m) norms of the sums of the fragments that `members` (N, c) marks; 1 where the sum is zero."""
    n, c = members.shape
    pairs = (members[:, None, :] * members[None, :, :]).reshape(n * n, c)
    squares = pairs.T @ gram.reshape(-1, n * n).T
    return np.sqrt(np.where(squares > 1e-12, squares, np.float32(1.0)))
