"""What a round says about pairs of sources, in the form that the filters take."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from gnn.relations.documents import DocumentRelations

LINKED = 0.3  # agree + conflict above which two documents count as linked
PAIR_WEIGHT = 1.5
MOST_SCALE = 0.8  # a round with hardly any relations must not rest on one of them
MOST_BETWEEN = 3.0  # weight of all that two sources tell each other in a round


@dataclass(frozen=True)
class RoundEvidence:
    """Evidence of one round over m sources and n documents.

    `holders` (n, m) who returned which text; `left`, `right` (k,) the pairs of related documents, left <=
    right: a text that several sources hold is related to itself; `dispute` (k,) x in [0,1] and `weight` (k,)
    W >= 0 of them; `levels` (m,) the content level of each source (`gnn.inference.suspicion`); `present` (m,)
    whether the source answered at all.
    """

    holders: NDArray[np.bool_]
    left: NDArray[np.int64]
    right: NDArray[np.int64]
    dispute: NDArray[np.float32]
    weight: NDArray[np.float32]
    levels: NDArray[np.int8]
    present: NDArray[np.bool_]
    scale: float

    @cached_property
    def between(self) -> PairEvidence:
        """The related document pairs, summed by pair of sources."""
        return PairEvidence(self)

    @property
    def strength(self) -> NDArray[np.float64]:
        """(m,) how much pair evidence touches each source."""
        return self.between.told.sum(axis=1)


class PairEvidence:
    """Log-likelihoods of a round's related document pairs, summed by pair of sources.

    However much two sources return, together they weigh no more than `MOST_BETWEEN`: five texts at each that
    make one claim are 25 agreements, and would else outvote all that independent sources say. `told` (m, m)
    is what they would weigh without that bound.
    """

    def __init__(self, evidence: RoundEvidence) -> None:
        some = np.flatnonzero(evidence.weight)
        i, j = evidence.left[some], evidence.right[some]
        # one entry for each pair of sources that hold a related pair of documents
        held = evidence.holders
        m = self._sources = held.shape[1]
        entry = np.flatnonzero(held[i][:, :, None] & held[j][:, None, :])
        pair, cell = np.divmod(entry, max(1, m * m))
        apart = np.flatnonzero(cell % (m + 1))  # else one source holds both
        pair, self._cell = pair[apart], cell[apart]
        weight = np.where(i == j, 0.5, 1.0) * evidence.weight[some]  # one text twice is counted both ways
        told = weight[pair]
        total = np.bincount(self._cell, told, minlength=m * m).reshape(m, m)
        self.told = total + total.T
        share = np.minimum(1.0, MOST_BETWEEN / np.maximum(self.told, 1e-9))
        self._weight = told * share.ravel()[self._cell]
        self._dispute = evidence.dispute[some].astype(np.float64)[pair]
        self._known: dict[bytes, NDArray[np.float64]] = {}

    def __call__(self, noise: NDArray[np.float64]) -> NDArray[np.float64]:
        """(r, m, m) summed log-likelihoods if a pair of sources conflicts with each rate of `noise` (r,).

        Remembered, since a local search asks often.
        """
        key = noise.tobytes()
        if key not in self._known:
            m, x, rate = self._sources, self._dispute, noise[:, None]
            each = self._weight * np.log(rate * x + (1 - rate) * (1 - x))
            summed = [np.bincount(self._cell, row, minlength=m * m) for row in each]
            between = np.array(summed, dtype=np.float64).reshape(len(noise), m, m)
            self._known[key] = between + between.transpose(0, 2, 1)
        return self._known[key]


def round_evidence(
    relations: DocumentRelations,
    holders: NDArray[np.bool_],
    levels: NDArray[np.int8],
    trust: NDArray[np.float32],
) -> RoundEvidence:
    """Evidence from document relations (already gated by `trust`) and content flags.

    The weight of one pair is scaled by 2 / (1 + mean number of other sources that a document is
    linked to), so that a round in which everything is replicated counts no more than one that is not.
    """
    held = holders.astype(np.float32)
    count = holders.sum(axis=1)
    shared = count > 1
    linked = np.flatnonzero(relations.agreed + relations.contested > LINKED)
    i, j = relations.left[linked], relations.right[linked]
    link = np.zeros((len(holders), len(holders)), dtype=np.float32)
    link[i, j] = link[j, i] = 1.0
    reach = (link @ held) > 0
    reach |= holders & shared[:, None]
    own = holders & (count == 1)[:, None]
    degree = (reach & ~own).sum(axis=1) - shared
    scale = min(MOST_SCALE, 2.0 / (1.0 + float(degree.mean()))) if len(degree) else MOST_SCALE
    twice = np.flatnonzero(shared)
    weight = np.concatenate([relations.strength, trust[twice] ** 2]) * np.float32(PAIR_WEIGHT * scale)
    dispute = np.concatenate([relations.dispute, np.zeros(len(twice), np.float32)])
    left, right = (np.concatenate([side, twice]) for side in (relations.left, relations.right))
    return RoundEvidence(
        holders, left, right, dispute, weight, levels, np.asarray(holders.any(axis=0)), scale
    )
