"""Plain truth discovery: documents support or contradict each other, sources earn what their documents get.

The iteration is the usual one (trust of a source = mean belief in its claims, belief in a claim from the
trust of those who agree and disagree); claims are documents, their relations come from the scorer.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from gnn.relations.documents import DocumentRelations

_ITERATIONS = 20
_GAIN = 3.0
_PRIOR_ROUNDS = 1.0


@dataclass(frozen=True)
class SourceTrust:
    """Trust of each source in [0,1] and how many rounds it rests on."""

    sources: tuple[str, ...]
    trust: NDArray[np.float64]
    rounds: NDArray[np.float64]


def start(sources: tuple[str, ...], prior: float = 0.7) -> SourceTrust:
    """Equal trust in all sources."""
    return SourceTrust(sources, np.full(len(sources), prior), np.zeros(len(sources)))


def truth_discovery(
    relations: DocumentRelations, holders: NDArray[np.bool_], state: SourceTrust
) -> tuple[NDArray[np.float64], SourceTrust]:
    """((n,) belief in each document, trust after the round)."""
    held = holders.astype(np.float64)
    count = held.sum(axis=0)
    answered = count > 0
    trust = state.trust.copy()
    belief = np.full(len(held), 0.5)
    for _ in range(_ITERATIONS):
        # a text is as trusted as the sources that hold it; further holders count as agreement
        own = held @ trust / np.maximum(1, held.sum(axis=1))
        copies = np.maximum(0.0, held @ trust - own)
        vote = relations.agree @ own - relations.conflict @ own + copies
        belief = 1 / (1 + np.exp(-_GAIN * (vote + (own - 0.5))))
        now = held.T @ belief / np.maximum(1, count)
        weight = (state.rounds + _PRIOR_ROUNDS) / (state.rounds + _PRIOR_ROUNDS + 1)
        updated = np.where(answered, weight * state.trust + (1 - weight) * now, state.trust)
        if np.abs(updated - trust).max() < 1e-6:
            break
        trust = updated
    return belief, SourceTrust(state.sources, trust, state.rounds + answered)
