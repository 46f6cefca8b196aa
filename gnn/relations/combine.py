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
    order = np.argsort(pairs.place, kind="stable")
    count = np.bincount(pairs.place, minlength=k)
    starts = np.cumsum(count) - count
    mutual = np.where(context[:, _MUTUAL] > 0, conflict, 0.0)
    most, second = _two_largest(np.stack([conflict, agree, mutual])[:, order], starts, count)
    first = order[starts]
    return np.column_stack(
        [
            most[0],
            second[0],
            most[1],
            second[1],
            np.log1p(np.bincount(pairs.place, conflict, k)),
            np.log1p(np.bincount(pairs.place, agree, k)),
            np.log(np.maximum(count, 1)),
            most[2],
            context[first, _COSINE],
            context[first, _SHARED],
        ]
    ).astype(np.float32)


def _two_largest(
    values: NDArray[np.float32], starts: NDArray[np.int64], count: NDArray[np.int64]
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Logits of the largest and the second largest of each group of columns, (rows, k) each."""
    p = np.clip(values.astype(np.float64), _LEAST, 1.0 - _LEAST)
    most = np.maximum.reduceat(p, starts, axis=1)
    columns = np.arange(p.shape[1])
    holds = p == np.repeat(most, count, axis=1)
    first = np.minimum.reduceat(np.where(holds, columns, p.shape[1]), starts, axis=1)
    np.put_along_axis(p, first, _LEAST, axis=1)  # a group of one has nothing that comes second
    second = np.maximum.reduceat(p, starts, axis=1)
    return np.log(most / (1.0 - most)), np.log(second / (1.0 - second))
