"""Gradient-boosted trees as plain arrays, so that a checkpoint can carry them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray


@dataclass(frozen=True)
class BoostedTrees:
    """`nodes` (t, k, 5): left, right, feature, threshold, value, padded; `start` the initial logit."""

    nodes: NDArray[np.float32]
    start: float

    def __call__(self, x: NDArray[np.float32]) -> NDArray[np.float64]:
        """(n,) logits of (n, f) inputs."""
        out = np.full(len(x), self.start)
        rows = np.arange(len(x))
        for tree in self.nodes:
            at = np.zeros(len(x), dtype=np.int64)
            while True:
                left = tree[at, 0].astype(np.int64)
                inner = left >= 0
                if not inner.any():
                    break
                feature = np.maximum(tree[at, 2].astype(np.int64), 0)
                goes_left = x[rows, feature] <= tree[at, 3]
                at = np.where(inner, np.where(goes_left, left, tree[at, 1].astype(np.int64)), at)
            out += tree[at, 4]
        return out

    def to_arrays(self, prefix: str) -> dict[str, NDArray[Any]]:
        return {f"{prefix}.nodes": self.nodes, f"{prefix}.start": np.array(self.start)}

    @classmethod
    def from_arrays(cls, arrays: Mapping[str, Any], prefix: str) -> BoostedTrees:
        return cls(np.asarray(arrays[f"{prefix}.nodes"], np.float32), float(arrays[f"{prefix}.start"]))


def fit_trees(
    x: NDArray[np.float32], y: NDArray[np.bool_], weight: NDArray[np.float64], seed: int
) -> BoostedTrees:
    """120 trees of depth 4 by scikit-learn."""
    from sklearn.ensemble import GradientBoostingClassifier

    rate = 0.1
    model = GradientBoostingClassifier(
        n_estimators=120, max_depth=4, learning_rate=rate, subsample=0.7, random_state=seed % 2**31
    ).fit(x, y, sample_weight=weight)
    trees = [estimator.tree_ for estimator in model.estimators_[:, 0]]
    size = max(tree.node_count for tree in trees)
    nodes = np.zeros((len(trees), size, 5), dtype=np.float32)
    nodes[:, :, 0] = -1
    for k, tree in enumerate(trees):
        count = tree.node_count
        nodes[k, :count, 0] = tree.children_left
        nodes[k, :count, 1] = tree.children_right
        nodes[k, :count, 2] = tree.feature
        nodes[k, :count, 3] = tree.threshold
        nodes[k, :count, 4] = rate * tree.value[:, 0, 0]
    prior = float(np.average(y, weights=weight))
    return BoostedTrees(nodes, float(np.log(prior / (1 - prior))))
