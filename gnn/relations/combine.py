"""From the sentences of two documents to what the documents say about each other."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from gnn.relations.features import CONTEXT_FEATURES
from gnn.relations.pairs import SentencePairs

FEATURES = (
    "conflict_most", "conflict_second", "agree_most", "agree_second", "conflict_sum", "agree_sum", "count",
    "conflict_mutual", "document_cosine", "subject_shared",
)  # fmt: skip
SCHEMA = "document-relations/" + "+".join(FEATURES)
_LEAST = 1e-3
_MUTUAL = CONTEXT_FEATURES.index("mutual")
_COSINE = CONTEXT_FEATURES.index("document_cosine")
_SHARED = CONTEXT_FEATURES.index("subject_shared")


def strongest(
    agree: NDArray[np.float32], conflict: NDArray[np.float32], pairs: SentencePairs
) -> NDArray[np.float32]:
    """(k, 2) agreement and conflict: of each the strongest sentence pair, conflict before agreement.

    Args:
        agree, conflict: (p,) probabilities of the rows of `pairs`.
    """
    most = np.zeros((2, len(pairs.documents)), dtype=np.float32)
    np.maximum.at(most[0], pairs.place, agree)
    np.maximum.at(most[1], pairs.place, conflict)
    most[0] *= 1.0 - most[1]
    return most.T


def pair_features(
    agree: NDArray[np.float32], conflict: NDArray[np.float32], pairs: SentencePairs
) -> NDArray[np.float32]:
    """(k, len(FEATURES)) of the k pairs of documents; arguments as in `strongest`.

    A single false alarm among many sentences that agree is told from a conflict by what comes second.
    """
    k, context = len(pairs.documents), pairs.context
    count = np.bincount(pairs.place, minlength=k)
    ends = np.cumsum(count)
    starts = ends - count
    mutual = np.where(context[:, _MUTUAL] > 0, conflict, np.float32(0.0))
    columns = []
    for told in (conflict, agree, mutual):
        # by value within each pair: sums are then the same in whatever order the sentences came
        ordered = told[np.lexsort((told, pairs.place))].astype(np.float64)
        most, second = ordered[ends - 1], np.where(count > 1, ordered[ends - 2], _LEAST)
        columns += [_logit(most), _logit(second), np.log1p(np.add.reduceat(ordered, starts))]
    first = np.empty(k, dtype=np.int64)
    first[pairs.place] = np.arange(len(pairs))
    return np.column_stack(
        [
            columns[0],
            columns[1],
            columns[3],
            columns[4],
            columns[2],
            columns[5],
            np.log(np.maximum(count, 1)),
            columns[6],
            context[first, _COSINE],
            context[first, _SHARED],
        ]
    ).astype(np.float32)


def _logit(p: NDArray[np.float64]) -> NDArray[np.float64]:
    p = np.clip(p, _LEAST, 1.0 - _LEAST)
    return np.log(p / (1.0 - p))
