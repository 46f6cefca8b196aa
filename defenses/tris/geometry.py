"""Layer 1 of TRIS: keep the majority cluster of the candidates in the judge's embedding space."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from defenses.clustering import kmeans


@dataclass(frozen=True)
class Partition:
    """What layer 1 found: who is kept, the share of all documents in each one's cluster, (n,) each."""

    kept: NDArray[np.bool_]
    share: NDArray[np.float64]
    majority: bool


def majority_cluster(
    vectors: NDArray[np.float32], clusters: int, min_candidates: int, rng: np.random.Generator
) -> Partition:
    """Keep the largest of `clusters` k-means clusters if it holds more than half, else all.

    All are kept as well below `min_candidates` documents (paper, sections 4 and 6.7).

    Shapes:
        vectors (n, d), unit rows.
    """
    n = len(vectors)
    if n < min_candidates:
        return Partition(np.ones(n, dtype=bool), np.ones(n), False)
    labels = kmeans(vectors, clusters, rng)
    sizes = np.bincount(labels)
    largest = int(sizes.argmax())
    majority = bool(2 * sizes[largest] > n)
    kept = labels == largest if majority else np.ones(n, dtype=bool)
    return Partition(kept, sizes[labels] / n, majority)
