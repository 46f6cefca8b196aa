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
    n = allowed.shape[0]
    present = np.unique(document_of)
    if len(present) < 2:
        none = np.zeros(0, dtype=np.int64)
        return Alignment(none, none, np.zeros(0, np.float32), np.zeros(0, np.bool_))
    starts = np.searchsorted(document_of, present)
    similarity = vectors @ vectors.T
    open_pairs = allowed[np.ix_(document_of, document_of)]
    rows, columns = np.nonzero((similarity >= floor) & open_pairs)
    upper = document_of[rows] < document_of[columns]
    rows, columns = rows[upper], columns[upper]
    best = np.full((len(document_of), n), -1.0, dtype=np.float32)
    best[:, present] = np.maximum.reduceat(similarity, starts, axis=1)
    cosine = similarity[rows, columns]
    for_left = cosine >= best[rows, document_of[columns]]
    for_right = cosine >= best[columns, document_of[rows]]
    keep = for_left | for_right
    return Alignment(rows[keep], columns[keep], cosine[keep].astype(np.float32), (for_left & for_right)[keep])
