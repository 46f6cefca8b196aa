"""Counting the votes of many top-p lists (RAGPart paper, section 3.1, aggregation)."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

import numpy as np
from numpy.typing import NDArray


class Aggregation(StrEnum):
    """How the lists of all combinations become one."""

    MAJORITY = "majority"
    INTERSECTION = "intersection"


@dataclass(frozen=True, slots=True)
class Poll:
    """Votes of the documents that may stand in a list.

    `documents` (m,) are ascending row numbers, `counts` (m,) in how many of the `n_lists` lists each
    stands, `means` (m,) its similarity averaged over all combinations.
    """

    documents: NDArray[np.intp]
    counts: NDArray[np.intp]
    means: NDArray[np.float32]
    n_lists: int


@dataclass(frozen=True, slots=True)
class Ballot:
    """The outcome, best first: row numbers, shares of the lists in [0,1], mean similarities; all (≤ p,)."""

    documents: NDArray[np.intp]
    shares: NDArray[np.float64]
    means: NDArray[np.float32]


def in_top(scores: NDArray[np.float32], p: int) -> NDArray[np.bool_]:
    """(c, m) whether document i is in the top `p` of list c; equal scores: the earlier document first.

    Args:
        scores: (c, m), a row for each list.
    """
    documents = scores.shape[1]
    if p >= documents:
        return np.ones(scores.shape, dtype=bool)
    cut = np.partition(scores, documents - p, axis=1)[:, documents - p, None]
    chosen: NDArray[np.bool_] = scores >= cut
    crowded = np.flatnonzero(np.count_nonzero(chosen, axis=1) > p)
    if len(crowded):  # more documents at the cut than there is room for
        above, level = scores[crowded] > cut[crowded], scores[crowded] == cut[crowded]
        room = p - np.count_nonzero(above, axis=1)[:, None]
        chosen[crowded] = above | (level & (np.cumsum(level, axis=1) <= room))
    return chosen


def aggregate(poll: Poll, p: int, how: Aggregation, rng: np.random.Generator) -> Ballot:
    """The final documents of a poll, at most `p`.

    Majority: those in most lists; ties go to the higher mean similarity, then to the earlier row.
    Intersection: those in all lists, fewer than `p` as the case may be; if there are none, `p` drawn
    by `rng` from the union, as the paper does.
    """
    standing = np.flatnonzero(poll.counts > 0)
    if how is Aggregation.INTERSECTION:
        everywhere = standing[poll.counts[standing] == poll.n_lists]
        if not len(everywhere) and len(standing):
            everywhere = np.sort(rng.choice(standing, size=min(p, len(standing)), replace=False))
        standing = everywhere
    order = np.lexsort((standing, -poll.means[standing], -poll.counts[standing]))
    chosen = standing[order][:p]
    return Ballot(poll.documents[chosen], poll.counts[chosen] / poll.n_lists, poll.means[chosen])
