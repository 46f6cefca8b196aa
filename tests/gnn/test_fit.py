from __future__ import annotations

import numpy as np
import pytest

from gnn.fit import fit_mlp


def rings(n: int = 400) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(0)
    x = rng.normal(size=(n, 2)).astype(np.float32)
    return x, (np.linalg.norm(x, axis=1) > 1.1).astype(np.int64)


def test_it_learns_what_no_line_separates() -> None:
    x, y = rings()
    network = fit_mlp(x, y, hidden=(16,), classes=1, seed=0, epochs=60, rate=1e-2, batch=64)
    assert ((network(x)[:, 0] > 0) == (y == 1)).mean() > 0.9


def test_three_classes() -> None:
    rng = np.random.default_rng(1)
    y = rng.integers(0, 3, 300)
    x = (np.eye(3)[y] * 3 + rng.normal(size=(300, 3))).astype(np.float32)
    network = fit_mlp(x, y, hidden=(8,), classes=3, seed=0, epochs=30, batch=64)
    assert network(x).shape == (300, 3)
    assert (network(x).argmax(axis=1) == y).mean() > 0.85


def test_equal_seeds_give_equal_networks() -> None:
    x, y = rings(100)
    one, two, other = (fit_mlp(x, y, hidden=(4,), classes=1, seed=s, epochs=3) for s in (0, 0, 1))
    assert np.array_equal(one(x), two(x))
    assert not np.array_equal(one(x), other(x))


def test_rows_of_weight_zero_and_held_out_rows_teach_nothing() -> None:
    x, y = rings(200)
    wrong = np.concatenate([y, 1 - y])
    doubled = np.concatenate([x, x])
    weight = np.concatenate([np.ones(200), np.zeros(200)]).astype(np.float32)
    held = np.zeros(400, bool)
    held[:40] = True
    network = fit_mlp(
        doubled, wrong, hidden=(16,), classes=1, seed=0, weight=weight, validation=held, epochs=60, rate=1e-2,
        batch=64, patience=60,
    )  # fmt: skip
    assert ((network(x)[:, 0] > 0) == (y == 1)).mean() > 0.85


def test_a_linear_model_and_a_constant_column() -> None:
    x, _ = rings(100)
    x[:, 1] = 7.0
    y = (x[:, 0] > 0).astype(np.int64)
    network = fit_mlp(x, y, hidden=(), classes=1, seed=0, epochs=40, rate=3e-2)
    assert np.isfinite(network(x)).all()
    assert ((network(x)[:, 0] > 0) == (y == 1)).mean() > 0.9


def test_nothing_to_train_on() -> None:
    x, y = rings(10)
    with pytest.raises(ValueError, match="no training rows"):
        fit_mlp(x, y, hidden=(4,), classes=1, seed=0, validation=np.ones(10, bool))
