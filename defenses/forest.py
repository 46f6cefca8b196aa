"""A random forest as plain arrays: trained by scikit-learn, kept as JSON, asked with numpy alone."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from core.errors import DataError

SCHEMA = 1
_LEAF = -1


@dataclass(frozen=True)
class Tree:
    """Nodes in rows, the root first; (n,) each.

    A row x goes to `left` where x[feature] <= threshold, else to `right`; `feature` is -1 at a leaf.
    `value`: share of class 1 among the training rows of the node, [0,1].
    """

    feature: NDArray[np.int64]
    threshold: NDArray[np.float64]
    left: NDArray[np.int64]
    right: NDArray[np.int64]
    value: NDArray[np.float64]

    def share(self, x: NDArray[np.float64]) -> NDArray[np.float64]:
        """`value` of the leaf that each row of `x` (n, features) comes to; (n,)."""
        at = np.zeros(len(x), dtype=np.int64)
        rows = np.arange(len(x))
        while (inner := self.feature[at] != _LEAF).any():
            goes_left = x[rows, np.maximum(self.feature[at], 0)] <= self.threshold[at]
            at = np.where(inner, np.where(goes_left, self.left[at], self.right[at]), at)
        return self.value[at]


@dataclass(frozen=True)
class Forest:
    """Trees over the named `features`; `about` says what it was trained on and how."""

    features: tuple[str, ...]
    trees: tuple[Tree, ...]
    about: Mapping[str, Any]

    def probability(self, x: NDArray[np.float64]) -> NDArray[np.float64]:
        """Mean share of class 1 over the trees for each row of `x` (n, features); (n,) in [0,1]."""
        return np.asarray(np.mean([tree.share(x) for tree in self.trees], axis=0))

    def dumps(self) -> str:
        """The forest as JSON."""
        trees = [
            {
                "feature": tree.feature.tolist(),
                "threshold": [round(v, 6) for v in tree.threshold.tolist()],
                "left": tree.left.tolist(),
                "right": tree.right.tolist(),
                "value": [round(v, 6) for v in tree.value.tolist()],
            }
            for tree in self.trees
        ]
        content = {"schema": SCHEMA, "features": self.features, "about": dict(self.about), "trees": trees}
        return json.dumps(content) + "\n"


def loads(text: str, where: str) -> Forest:
    """The forest of `dumps`; nothing of it is run.

    Raises:
        DataError: it is none, or its nodes lead in circles or nowhere; `where` names the file.
    """
    try:
        found = json.loads(text)
        if found["schema"] != SCHEMA:
            raise ValueError(f"schema {found['schema']}, this version reads {SCHEMA}")
        features = tuple(str(name) for name in found["features"])
        trees = tuple(_tree(tree, len(features)) for tree in found["trees"])
        if not trees:
            raise ValueError("it has no tree")
        return Forest(features, trees, dict(found["about"]))
    except (ValueError, KeyError, TypeError) as error:
        raise DataError(f"{where}: not a forest ({error}); make one with scr sim fit") from None


def fit(
    x: NDArray[np.float64],
    y: NDArray[np.bool_],
    features: Sequence[str],
    about: Mapping[str, Any],
    *,
    trees: int = 40,
    depth: int = 4,
    seed: int = 0,
) -> Forest:
    """A forest trained on rows `x` (n, features) of class `y` (n,), both classes weighed alike.

    Raises:
        DataError: only one class is there.
    """
    from sklearn.ensemble import RandomForestClassifier

    if len(np.unique(y)) != 2:
        raise DataError("a forest is trained on rows of both classes, and one is missing")
    model = RandomForestClassifier(
        n_estimators=trees, max_depth=depth, min_samples_leaf=2, class_weight="balanced", random_state=seed
    ).fit(x, y)
    made = []
    for one in model.estimators_:
        nodes = one.tree_
        counts = nodes.value[:, 0, :]
        leaf = nodes.children_left < 0
        made.append(
            Tree(
                np.where(leaf, _LEAF, nodes.feature).astype(np.int64),
                np.where(leaf, 0.0, nodes.threshold).astype(np.float64),
                np.where(leaf, 0, nodes.children_left).astype(np.int64),
                np.where(leaf, 0, nodes.children_right).astype(np.int64),
                counts[:, 1] / counts.sum(axis=1),
            )
        )
    return Forest(tuple(features), tuple(made), about)


def _tree(found: Mapping[str, Any], features: int) -> Tree:
    tree = Tree(
        np.array(found["feature"], dtype=np.int64),
        np.array(found["threshold"], dtype=np.float64),
        np.array(found["left"], dtype=np.int64),
        np.array(found["right"], dtype=np.int64),
        np.array(found["value"], dtype=np.float64),
    )
    n = len(tree.feature)
    sizes = {column.shape for column in (tree.feature, tree.threshold, tree.left, tree.right, tree.value)}
    if sizes != {(n,)} or n == 0:
        raise ValueError("a tree's columns differ in length")
    inner = np.flatnonzero(tree.feature != _LEAF)
    for side in (tree.left[inner], tree.right[inner]):
        if (side <= inner).any() or (side >= n).any():  # children stand below their parent: no circles
            raise ValueError("a node leads nowhere")
    if (tree.feature < _LEAF).any() or (tree.feature >= features).any():
        raise ValueError("a node asks for a feature that does not exist")
    if not (np.isfinite(tree.threshold).all() and ((tree.value >= 0) & (tree.value <= 1)).all()):
        raise ValueError("a threshold or a share is out of range")
    return tree
