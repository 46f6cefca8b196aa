"""Thresholds for a stated clean cost, calibration of probabilities, and how well they are calibrated."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray


def clean_threshold(clean_logits: NDArray[np.float64], clean_cost: float) -> float:
    """The content threshold that rejects a share `clean_cost` of clean documents.

    The quantile is taken slightly inside, so that few warm-up rounds do not promise more than they
    can show; no attack example is needed.

    Raises:
        ValueError: no documents.
    """
    if not len(clean_logits):
        raise ValueError("no clean documents to choose a threshold by")
    return float(np.quantile(clean_logits, clean_cost))


def fit_platt(logits: NDArray[np.float64], labels: NDArray[np.bool_]) -> tuple[float, float]:
    """(slope, offset) of the logistic calibration sigmoid(slope * logit + offset), by Newton steps.

    Targets are smoothed as Platt proposed; slope is kept positive.
    """
    positives, negatives = int(labels.sum()), int((~labels).sum())
    target = np.where(labels, (positives + 1) / (positives + 2), 1 / (negatives + 2))
    x = np.column_stack([np.clip(logits, -12, 12), np.ones(len(logits))])
    w = np.array([1.0, 0.0])
    for _ in range(50):
        p = 1 / (1 + np.exp(-x @ w))
        gradient = x.T @ (p - target)
        hessian = (x * (p * (1 - p))[:, None]).T @ x + 1e-6 * np.eye(2)
        step = np.linalg.solve(hessian, gradient)
        w = w - np.clip(step, -1.0, 1.0)
        if np.abs(step).max() < 1e-8:
            break
    return float(max(w[0], 0.05)), float(w[1])


def expected_calibration_error(
    probability: NDArray[np.float64], labels: NDArray[np.bool_], bins: int = 15
) -> float:
    """Mean over equal-width bins of |mean probability - share of positives|, weighted by bin size."""
    if not len(probability):
        return float("nan")
    index = np.minimum((probability * bins).astype(int), bins - 1)
    total = 0.0
    for b in np.unique(index):
        inside = index == b
        total += inside.mean() * abs(float(probability[inside].mean()) - float(labels[inside].mean()))
    return total
