from __future__ import annotations

import itertools

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from defenses.clustering import kmeans


def inertia(points: np.ndarray, labels: np.ndarray) -> float:
    return sum(
        float(((points[labels == k] - points[labels == k].mean(0)) ** 2).sum()) for k in np.unique(labels)
    )


@given(st.integers(0, 30), st.integers(1, 5), st.integers(0, 9))
def test_labels_are_numbered_by_first_point_and_repeat(n: int, clusters: int, seed: int) -> None:
    points = np.random.default_rng(seed).normal(size=(n, 4))
    labels = kmeans(points, clusters, np.random.default_rng(seed))
    assert labels.shape == (n,)
    firsts = list(dict.fromkeys(labels.tolist()))
    assert firsts == list(range(len(firsts)))
    assert len(firsts) <= clusters
    assert np.array_equal(labels, kmeans(points, clusters, np.random.default_rng(seed)))


@pytest.mark.parametrize("seed", range(5))
def test_two_clusters_are_the_best_split(seed: int) -> None:
    points = np.random.default_rng(seed).normal(size=(8, 3))
    best = min(
        inertia(points, np.array([0, *rest])) for rest in itertools.product((0, 1), repeat=7) if any(rest)
    )
    assert inertia(points, kmeans(points, 2, np.random.default_rng(0))) == pytest.approx(best)


def test_equal_points_do_not_break_it() -> None:
    assert kmeans(np.ones((6, 3)), 3, np.random.default_rng(0)).max() == 0
    two = np.array([[0.0], [0.0], [1.0]])
    assert kmeans(two, 3, np.random.default_rng(0)).tolist() == [0, 0, 1]


def test_as_good_as_scikit_learn() -> None:
    from sklearn.cluster import KMeans

    points = np.random.default_rng(3).normal(size=(60, 16))
    theirs = KMeans(4, n_init=10, random_state=0).fit(points).inertia_
    assert inertia(points, kmeans(points, 4, np.random.default_rng(0))) <= theirs * 1.02
