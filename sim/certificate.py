"""Theorem 1 of the SecureCollaRAG paper as an experiment: its bound beside the risk that is measured.

The theorem assumes that decisions f(h) separate malicious from benign documents with a margin γ, but
for a share ε of them; then risk <= ε + (1 - ε) e^-γ (Eq. 15). Both constants are properties of a trained
model on a distribution of rounds, so they are estimated on some rounds, and the risk is measured on others.
Its own proof shows risk <= ε and loosens it; the limit e^-γ (Eq. 16) does not follow from its lemmas.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray


@dataclass(frozen=True)
class Certificate:
    """`margin` γ >= 0 and `failure` ε in [0,1], the share of documents inside the margin or beyond it."""

    margin: float
    failure: float

    @property
    def bound(self) -> float:
        """Eq. 15."""
        return self.failure + (1.0 - self.failure) * math.exp(-self.margin)

    @property
    def limit(self) -> float:
        """Eq. 16, claimed for many rounds."""
        return math.exp(-self.margin)


def failure_at(margin: float, logits: NDArray[np.float64], malicious: NDArray[np.bool_]) -> float:
    """Share of (n,) decisions that are not on their own side by `margin`: benign >= γ, malicious <= -γ."""
    return float(np.mean(np.where(malicious, logits > -margin, logits < margin)))


def certify(logits: NDArray[np.float64], malicious: NDArray[np.bool_]) -> Certificate:
    """The margin with the lowest bound on these decisions; every other one holds as well.

    Raises:
        ValueError: there is no decision.
    """
    if not len(logits):
        raise ValueError("no decisions to certify")
    right_side = np.where(malicious, -logits, logits)
    # the bound falls with the margin except where a decision drops out: the best margin is one of them
    margins = np.unique(np.maximum(right_side, 0.0))
    ordered = np.sort(right_side)
    failures = np.searchsorted(ordered, margins, side="left") / len(ordered)
    bounds = failures + (1.0 - failures) * np.exp(-margins)
    best = int(np.argmin(bounds))
    return Certificate(float(margins[best]), float(failures[best]))


def risk(logits: NDArray[np.float64], malicious: NDArray[np.bool_]) -> float:
    """Share of decisions that are wrong at threshold 0: accepted malicious and rejected benign (Eq. 18)."""
    return float(np.mean((logits >= 0) == malicious))
