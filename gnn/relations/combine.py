"""From the sentences of two documents to what the documents say about each other."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from gnn.relations.features import CONTEXT_FEATURES

FEATURES = (
    "conflict_most", "conflict_second", "agree_most", "agree_second", "conflict_sum", "agree_sum", "count",
    "conflict_mutual", "document_cosine", "subject_shared",
)  # fmt: skip
SCHEMA = "document-relations/" + "+".join(FEATURES)
_LEAST = 1e-3
_NOTHING = float(np.log(_LEAST / (1.0 - _LEAST)))  # the logit of a sentence pair that does not exist
_MUTUAL = CONTEXT_FEATURES.index("mutual")
_COSINE = CONTEXT_FEATURES.index("document_cosine")
_SHARED = CONTEXT_FEATURES.index("subject_shared")


def strongest(
    agree: NDArray[np.float32], conflict: NDArray[np.float32], place: NDArray[np.int64], k: int
) -> NDArray[np.float32]:
    """(k, 2) agreement and conflict: of each the strongest sentence pair, conflict before agreement.

    Args:
        agree, conflict: (p,) probabilities. place: (p,) in 0..k-1, which documents a pair belongs to.
    """
    most = np.zeros((2, k), dtype=np.float32)
    np.maximum.at(most[0], place, agree)
    np.maximum.at(most[1], place, conflict)
    most[0] *= 1.0 - most[1]
    return most.T


def pair_features(
    agree: NDArray[np.float32],
    conflict: NDArray[np.float32],
    place: NDArray[np.int64],
    context: NDArray[np.float32],
    k: int,
) -> NDArray[np.float32]:
    """(k, len(FEATURES)) of k pairs of documents; arguments as in `strongest`, each of them in `place`.

    A single false alarm among many sentences that agree is told from a conflict by what comes second.
    """
    count = np.bincount(place, minlength=k)
    mutual = np.where(context[:, _MUTUAL] > 0, conflict, 0.0)
    first = np.unique(place, return_index=True)[1]
    return np.column_stack(
        [
            *_two_largest(conflict, place, count),
            *_two_largest(agree, place, count),
            np.log1p(np.bincount(place, conflict, k)),
            np.log1p(np.bincount(place, agree, k)),
            np.log(np.maximum(count, 1)),
            _two_largest(mutual, place, count)[0],
            context[first, _COSINE],
            context[first, _SHARED],
        ]
    ).astype(np.float32)


def _two_largest(
    value: NDArray[np.float32], place: NDArray[np.int64], count: NDArray[np.int64]
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Logits of the largest and the second largest value in each place."""
    order = np.lexsort((-value, place))
    start = np.cumsum(count) - count
    p = np.clip(value[order].astype(np.float64), _LEAST, 1.0 - _LEAST)
    logits = np.append(np.log(p / (1.0 - p)), _NOTHING)
    return logits[start], np.where(count > 1, logits[np.minimum(start + 1, len(p))], _NOTHING)
