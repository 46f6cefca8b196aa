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
    """(m, c) whether row i stands in the top `p` of column c; equal scores: the earlier row first."""
    rows = scores.shape[0]
    if p >= rows:
        return np.ones(scores.shape, dtype=bool)
    cut = np.partition(scores, rows - p, axis=0)[rows - p]
    above: NDArray[np.bool_] = scores > cut
    level: NDArray[np.bool_] = scores == cut
    room = p - above.sum(axis=0)
    if (level.sum(axis=0) > room).any():
        level &= np.cumsum(level, axis=0) <= room
    return above | level


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
