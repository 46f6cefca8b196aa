"""Credibility of documents from beliefs about sources and relations between documents.

This is the verification channel: a document is sound if an honest source holds it, or if the
documents of trusted sources tell the same facts and none of them contradicts it.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from gnn.inference.evidence import RoundEvidence
from gnn.inference.source_filter import FilterConfig, SourceBeliefs
from gnn.relations.documents import DocumentRelations

_MOST_SUPPORT = -1.0  # corroboration may count no more than this: copies are cheap


def tampering_evidence(
    relations: DocumentRelations, evidence: RoundEvidence, beliefs: SourceBeliefs
) -> NDArray[np.float64]:
    """(n,) log-likelihood ratio altered : sound from what trusted documents say, at least -1."""
    trust = np.maximum(0.0, 2.0 * beliefs.any_honest(evidence.holders) - 1.0)
    x = relations.dispute.astype(np.float64)
    # an altered document conflicts with trusted ones .8 of the time, a sound one .05
    ratio = np.log((0.8 * x + 0.2 * (1 - x)) / (0.05 * x + 0.95 * (1 - x)))
    weighed = evidence.scale * relations.strength * trust[None, :] * ratio
    return np.maximum(_MOST_SUPPORT, weighed.sum(axis=1))


def verification_credibility(
    relations: DocumentRelations,
    evidence: RoundEvidence,
    beliefs: SourceBeliefs,
    config: FilterConfig,
) -> NDArray[np.float64]:
    """(n,) probability in (0,1) that each document is sound."""
    honest = beliefs.any_honest(evidence.holders)
    rate = min(0.97, beliefs.lie_rate(config.lie_rates) / 0.7)
    odds = np.log(rate / (1 - rate)) + tampering_evidence(relations, evidence, beliefs)
    altered = 1.0 / (1.0 + np.exp(-odds))
    return np.clip(1.0 - (1.0 - honest) * altered, 1e-4, 1 - 1e-4)
