"""Which sentences of two documents speak of the same thing: alignment by meaning."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

COSINE_FLOOR = 0.5


@dataclass(frozen=True)
class Alignment:
    """Aligned sentence pairs of one round.

    `left`, `right` (p,) index sentences with document(left) < document(right); `cosine` (p,);
    `mutual` (p,) whether each is the other's best match between the two documents.
    """

    left: NDArray[np.int64]
    right: NDArray[np.int64]
    cosine: NDArray[np.float32]
    mutual: NDArray[np.bool_]


_DENSE = 1500  # sentences up to which one matrix product is the quickest
_NOTHING = Alignment(
    np.zeros(0, np.int64), np.zeros(0, np.int64), np.zeros(0, np.float32), np.zeros(0, np.bool_)
)


def align(
    vectors: NDArray[np.float32],
    document_of: NDArray[np.int64],
    allowed: NDArray[np.bool_],
    floor: float = COSINE_FLOOR,
) -> Alignment:
    """Align the sentences of every allowed pair of documents.

    Args:
        vectors: (s, d) unit sentence vectors, sentences of a document adjacent.
        document_of: (s,) ascending document index of each sentence.
        allowed: (n, n) symmetric; which documents may be compared.
        floor: pairs below this cosine are not aligned.

    A pair counts when it is the best match for at least one side between its two documents.
    """
    if len(document_of) <= _DENSE:
        return _densely(vectors, document_of, allowed, floor)
    return _by_document(vectors, document_of, allowed, floor)


def _densely(
    vectors: NDArray[np.float32],
    document_of: NDArray[np.int64],
    allowed: NDArray[np.bool_],
    floor: float,
) -> Alignment:
    """All sentences against all: the fewest calls, quadratic in the sentences."""
    n = allowed.shape[0]
    present = np.unique(document_of)
    if len(present) < 2:
        return _NOTHING
    starts = np.searchsorted(document_of, present)
    similarity = vectors @ vectors.T
    rows, columns = np.nonzero(similarity >= floor)
    i, j = document_of[rows], document_of[columns]
    open_pairs = (i < j) & allowed[i, j]
    rows, columns = rows[open_pairs], columns[open_pairs]
    best = np.full((len(document_of), n), -1.0, dtype=np.float32)
    best[:, present] = np.maximum.reduceat(similarity, starts, axis=1)
    cosine = similarity[rows, columns]
    for_left = cosine >= best[rows, document_of[columns]]
    for_right = cosine >= best[columns, document_of[rows]]
    keep = for_left | for_right
    return Alignment(rows[keep], columns[keep], cosine[keep].astype(np.float32), (for_left & for_right)[keep])


def _by_document(
    vectors: NDArray[np.float32],
    document_of: NDArray[np.int64],
    allowed: NDArray[np.bool_],
    floor: float,
) -> Alignment:
    """Each document's sentences against those of its allowed later documents: linear in allowed pairs."""
    n = allowed.shape[0]
    bounds = np.searchsorted(document_of, np.arange(n + 1))
    size = np.diff(bounds)
    found: list[tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.float32], NDArray[np.bool_]]] = []
    for i in np.flatnonzero(size):
        others = i + 1 + np.flatnonzero(allowed[i, i + 1 :] & (size[i + 1 :] > 0))
        if not len(others):
            continue
        first = np.concatenate([[0], np.cumsum(size[others])])
        columns = np.arange(first[-1]) + np.repeat(bounds[others] - first[:-1], size[others])
        similarity = vectors[bounds[i] : bounds[i + 1]] @ vectors[columns].T
        near = similarity >= floor
        if not near.any():
            continue
        for_left = similarity >= np.repeat(
            np.maximum.reduceat(similarity, first[:-1], axis=1), size[others], axis=1
        )
        for_right = similarity >= similarity.max(axis=0)
        a, b = np.nonzero(near & (for_left | for_right))
        found.append((bounds[i] + a, columns[b], similarity[a, b], (for_left & for_right)[a, b]))
    if not found:
        return _NOTHING
    left, right, cosine, mutual = (np.concatenate(part) for part in zip(*found, strict=True))
    return Alignment(left, right, cosine.astype(np.float32), mutual)
