"""Bootstrap intervals of ratios of sums and of ROC areas, resampled by question, round or federation."""

from __future__ import annotations

from collections.abc import Hashable, Sequence

import numpy as np
from numpy.typing import NDArray

RESAMPLES = 2000
Interval = tuple[float, float]


def ratio(numerators: Sequence[float], denominators: Sequence[float]) -> float | None:
    """Sum of `numerators` over sum of `denominators`; None where that is 0."""
    below = float(np.sum(denominators)) if len(denominators) else 0.0
    return float(np.sum(numerators)) / below if below > 0 else None


def ratio_interval(
    numerators: Sequence[float],
    denominators: Sequence[float],
    clusters: Sequence[Hashable],
    rng: np.random.Generator,
    resamples: int = RESAMPLES,
    level: float = 0.95,
) -> Interval | None:
    """Percentile interval of `ratio`, clusters drawn with replacement.

    Rounds of one question (its trials) form one cluster, since they are not independent. The
    interval always holds the point estimate. None where the ratio does not exist.

    Args:
        numerators, denominators, clusters: (n,) each, one entry per round.
        level: share of the resampled ratios that lies inside.
    """
    point = ratio(numerators, denominators)
    if point is None:
        return None
    ids = {cluster: i for i, cluster in enumerate(dict.fromkeys(clusters))}
    index = np.array([ids[cluster] for cluster in clusters])
    above = np.bincount(index, weights=np.asarray(numerators, dtype=float), minlength=len(ids))
    below = np.bincount(index, weights=np.asarray(denominators, dtype=float), minlength=len(ids))
    counts = rng.multinomial(len(ids), np.full(len(ids), 1.0 / len(ids)), size=resamples)
    tops, bottoms = counts @ above, counts @ below
    drawn = tops[bottoms > 0] / bottoms[bottoms > 0]
    tail = (1.0 - level) / 2.0
    low, high = np.quantile(drawn, [tail, 1.0 - tail]) if drawn.size else (point, point)
    return min(float(low), point), max(float(high), point)


def auroc_interval(
    scores: NDArray[np.float64],
    positive: NDArray[np.bool_],
    clusters: Sequence[int],
    rng: np.random.Generator,
    resamples: int = 500,
    level: float = 0.95,
) -> Interval | None:
    """Percentile interval of the area under the ROC curve, clusters drawn with replacement.

    Args:
        scores, positive: (n,) one entry per document; clusters: (n,) what it is resampled with, its question,
            round or federation, numbered from 0 without gaps.

    It always holds the point estimate. None where a class is missing.
    """
    _, place = np.unique(scores, return_inverse=True)
    cluster = np.asarray(clusters)

    def area(weight: NDArray[np.float64]) -> float | None:
        above = np.bincount(place, weight * positive)
        below = np.bincount(place, weight * ~positive)
        total = above.sum() * below.sum()
        return float((above * (np.cumsum(below) - below / 2)).sum() / total) if total > 0 else None

    point = area(np.ones(len(scores)))
    if point is None:
        return None
    k = int(cluster.max()) + 1
    counts = rng.multinomial(k, np.full(k, 1.0 / k), size=resamples)
    drawn = [value for row in counts if (value := area(row[cluster].astype(float))) is not None]
    tail = (1.0 - level) / 2.0
    low, high = np.quantile(drawn, [tail, 1.0 - tail]) if drawn else (point, point)
    return min(float(low), point), max(float(high), point)
