"""Which sentences of two documents speak of the same thing: alignment by meaning."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray


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


_BLOCKS = 3  # of rows, in one matrix product each
_DENSE = 1500  # sentences up to which one matrix product is the quickest
_Candidates = tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.float32]]
_NONE: _Candidates = (np.zeros(0, np.int64), np.zeros(0, np.int64), np.zeros(0, np.float32))


def align(
    vectors: NDArray[np.float32],
    document_of: NDArray[np.int64],
    limit: NDArray[np.float32],
) -> Alignment:
    """Align the sentences of pairs of documents.

    Args:
        vectors: (s, d) unit sentence vectors, sentences of a document adjacent.
        document_of: (s,) ascending document index of each sentence.
        limit: (n, n) cosine below which sentences of two documents are not aligned, above the diagonal;
            infinite there for documents that are not compared, and everywhere else.

    A pair counts when it is the best match for at least one side between its two documents.
    """
    find = _densely if len(document_of) <= _DENSE else _by_document
    rows, columns, cosine = find(vectors, document_of, limit)
    # a best match is above the limit itself, so the candidates hold it
    best = np.zeros((len(document_of), len(limit)), dtype=np.float32)
    i, j = document_of[rows], document_of[columns]
    np.maximum.at(best, (rows, j), cosine)
    np.maximum.at(best, (columns, i), cosine)
    for_left, for_right = cosine >= best[rows, j], cosine >= best[columns, i]
    keep = for_left | for_right
    return Alignment(rows[keep], columns[keep], cosine[keep], (for_left & for_right)[keep])


def _densely(
    vectors: NDArray[np.float32], document_of: NDArray[np.int64], limit: NDArray[np.float32]
) -> _Candidates:
    """Sentences against all later ones, in few calls, quadratic in the sentences."""
    count = len(document_of)
    found: list[_Candidates] = [_NONE]
    step = max(1, -(-count // _BLOCKS))
    for start in range(0, count, step):  # limits stand above the diagonal: earlier sentences need no look
        own, later = slice(start, start + step), slice(start, count)
        similarity = vectors[own] @ vectors[later].T
        # columns first: rows are then copied whole
        floors = limit.take(document_of[later], axis=1).take(document_of[own], axis=0)
        above = np.flatnonzero(similarity >= floors)
        a, b = np.divmod(above, count - start)
        found.append((start + a, start + b, similarity.ravel()[above]))
    rows, columns, cosine = (np.concatenate(part) for part in zip(*found, strict=True))
    return rows, columns, cosine


def _by_document(
    vectors: NDArray[np.float32], document_of: NDArray[np.int64], limit: NDArray[np.float32]
) -> _Candidates:
    """Each document's sentences against those of its allowed later documents: linear in allowed pairs."""
    n = len(limit)
    bounds = np.searchsorted(document_of, np.arange(n + 1))
    size = np.diff(bounds)
    upper = np.isfinite(limit) & (size > 0)
    upper[size == 0] = False
    one, other = np.nonzero(upper)
    lengths = size[other]
    ends = np.cumsum(lengths)
    columns = np.repeat(bounds[other] - ends + lengths, lengths) + np.arange(lengths.sum())
    floors = np.repeat(limit[one, other], lengths)
    first = np.concatenate([[0], ends])[np.searchsorted(one, np.arange(n + 1))]  # of each document's columns
    found: list[_Candidates] = [_NONE]
    for i in np.unique(one).tolist():
        own = slice(first[i], first[i + 1])
        theirs = columns[own]
        similarity = vectors[bounds[i] : bounds[i + 1]] @ vectors[theirs].T
        above = np.flatnonzero(similarity >= floors[own])
        a, b = np.divmod(above, len(theirs))
        found.append((bounds[i] + a, theirs[b], similarity.ravel()[above]))
    rows, columns, cosine = (np.concatenate(part) for part in zip(*found, strict=True))
    return rows, columns, cosine
