from __future__ import annotations

import numpy as np
import pytest

from core.seeding import derive_seed
from gnn.baselines.trees import BoostedTrees, fit_trees


def data() -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    rng = np.random.default_rng(0)
    x = rng.normal(size=(300, 5)).astype(np.float32)
    y = (x[:, 0] * x[:, 1] > 0) ^ (rng.random(300) < 0.05)
    return x, y, rng.uniform(0.5, 1.5, 300)


def test_the_exported_trees_predict_what_scikit_learn_predicts() -> None:
    from sklearn.ensemble import GradientBoostingClassifier

    x, y, weight = data()
    seed = derive_seed(0, "trees")
    ours = fit_trees(x, y, weight, seed)
    theirs = GradientBoostingClassifier(
        n_estimators=len(ours.nodes), max_depth=4, learning_rate=0.1, subsample=0.7, random_state=seed % 2**31
    ).fit(x, y, sample_weight=weight)
    fresh = np.random.default_rng(1).normal(size=(500, 5)).astype(np.float32)
    assert ours(fresh) == pytest.approx(theirs.decision_function(fresh), abs=1e-4)
    assert ((ours(x) > 0) == y).mean() > 0.9


def test_round_trip_through_a_checkpoint() -> None:
    x, y, weight = data()
    before = fit_trees(x, y, weight, 1)
    after = BoostedTrees.from_arrays(before.to_arrays("t"), "t")
    assert np.array_equal(after(x), before(x))
    assert after(x[:0]).shape == (0,)
