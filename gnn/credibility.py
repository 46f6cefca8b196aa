"""Credibility of documents from beliefs about sources and relations between documents.

This is the verification channel: a document is sound if an honest source holds it, or if the
documents of trusted sources tell the same facts and none of them contradicts it.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from gnn.inference.source_filter import Way
from gnn.relations.documents import DocumentRelations

_ALTERED = 0.8  # how often an altered document conflicts with a trusted one on the same facts
_LEAST_NOISE = 0.05
_MOST_SUPPORT = -1.0  # corroboration may count no more than this: copies are cheap


def tampering_evidence(
    relations: DocumentRelations, scale: float, honest: NDArray[np.float64], noise: float
) -> NDArray[np.float64]:
    """(n,) log-likelihood ratio altered : sound from what trusted documents say, at least -1.

    `scale` is that of the round's evidence, `honest` (n,) the probability that a holder is honest,
    `noise` how often relations between sound documents look like conflicts.
    """
    trust = np.maximum(0.0, 2.0 * honest - 1.0)
    i = np.concatenate([relations.left, relations.right])  # the document, and what the other one says of it
    j = np.concatenate([relations.right, relations.left])
    x = relations.dispute.astype(np.float64)
    sound = max(_LEAST_NOISE, noise)
    altered = 1 - (1 - sound) * (1 - _ALTERED)
    ratio = np.log((altered * x + (1 - altered) * (1 - x)) / (sound * x + (1 - sound) * (1 - x)))
    weighed = np.tile(scale * relations.strength * ratio, 2) * trust[j]
    return np.maximum(_MOST_SUPPORT, np.bincount(i, weighed, minlength=len(trust)))


def verification_credibility(
    honest: NDArray[np.float64], tampering: NDArray[np.float64], way: Way
) -> NDArray[np.float64]:
    """(n,) probability in (0,1) that each document is sound.

    Args:
        honest: (n,) probability that a holder is honest.
        tampering: (n,) log-likelihood ratio altered : sound.
        way: how liars are believed to lie.
    """
    rate = min(0.97, way.rate / 0.7)
    altered = 1.0 / (1.0 + np.exp(-(np.log(rate / (1 - rate)) + tampering)))
    return np.clip(1.0 - (1.0 - honest) * altered, 1e-4, 1 - 1e-4)
