"""k-means on the few dozen vectors of a round: all restarts at once, in plain numpy."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray


def kmeans(
    points: NDArray[np.floating],
    clusters: int,
    rng: np.random.Generator,
    *,
    restarts: int = 10,
    iterations: int = 100,
) -> NDArray[np.int_]:
    """Labels of the best of `restarts` runs of Lloyd's algorithm with k-means++ starts.

    Clusters are numbered in the order of their first point. Fewer than `clusters` labels come back
    where there are fewer distinct points.

    Args:
        points: (n, d).
        clusters: at least 1.
        rng: where the starts are drawn from.
        restarts: runs with other starts.
        iterations: limit of one run.

    Shapes:
        returns (n,), values in [0, clusters).
    """
    x = np.asarray(points, dtype=np.float64)
    n = len(x)
    if n == 0:
        return np.zeros(0, dtype=np.int_)
    k = min(clusters, n)
    centres = _starts(x, k, rng, restarts)
    squares = np.einsum("nd,nd->n", x, x)
    labels = np.full((restarts, n), -1)
    for _ in range(iterations):
        distances = _distances(x, squares, centres)
        found = distances.argmin(2).T
        if np.array_equal(found, labels):
            break
        labels = found
        members = (labels[:, None, :] == np.arange(k)[None, :, None]).astype(np.float64)
        sizes = members.sum(2)
        means = (members @ x) / np.maximum(sizes, 1.0)[:, :, None]
        centres = np.where(sizes[:, :, None] > 0, means, centres)
    best = int(_distances(x, squares, centres).min(2).sum(0).argmin())
    _, first, inverse = np.unique(labels[best], return_index=True, return_inverse=True)
    order = np.argsort(np.argsort(first))
    return np.asarray(order[inverse], dtype=np.int_)


def _starts(x: NDArray[np.float64], k: int, rng: np.random.Generator, restarts: int) -> NDArray[np.float64]:
    """k-means++: each further centre is a point drawn by its squared distance; (restarts, k, d)."""
    n = len(x)
    chosen = rng.integers(n, size=restarts)
    centres = [x[chosen]]
    nearest = np.full((restarts, n), np.inf)
    for _ in range(k - 1):
        gap = ((x[None, :, :] - centres[-1][:, None, :]) ** 2).sum(2)
        nearest = np.minimum(nearest, gap)
        total = nearest.sum(1, keepdims=True)
        odds = np.where(total > 0, nearest / np.where(total > 0, total, 1.0), 1.0 / n)
        draws = rng.random((restarts, 1))
        chosen = np.minimum((odds.cumsum(1) < draws).sum(1), n - 1)
        centres.append(x[chosen])
    return np.stack(centres, axis=1)


def _distances(
    x: NDArray[np.float64], squares: NDArray[np.float64], centres: NDArray[np.float64]
) -> NDArray[np.float64]:
    """Squared distances (n, restarts, k)."""
    restarts, k, d = centres.shape
    flat = centres.reshape(restarts * k, d)
    found = squares[:, None] - 2 * x @ flat.T + np.einsum("cd,cd->c", flat, flat)[None, :]
    return np.maximum(found, 0.0).reshape(len(x), restarts, k)
