from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from core.embedding.base import unit_rows
from defenses.tris.geometry import majority_cluster
from tests.defenses.rounds import bundle


def test_the_majority_stays() -> None:
    rng = np.random.default_rng(0)
    vectors = unit_rows(
        np.vstack([bundle(rng, [1.0, 0.0, 0.0], 9, 0.05), bundle(rng, [0.0, 1.0, 0.0], 4, 0.05)])
    )
    found = majority_cluster(vectors, 2, 10, np.random.default_rng(0))
    assert found.majority
    assert found.kept.tolist() == [True] * 9 + [False] * 4
    assert found.share.tolist() == [9 / 13] * 9 + [4 / 13] * 4


def test_without_a_majority_all_stay() -> None:
    rng = np.random.default_rng(0)
    vectors = unit_rows(np.vstack([bundle(rng, np.eye(3)[i], 4, 0.05) for i in range(3)]))
    found = majority_cluster(vectors, 3, 10, np.random.default_rng(0))
    assert not found.majority
    assert found.kept.all()


@given(st.integers(0, 9))
def test_few_candidates_are_not_clustered(n: int) -> None:
    found = majority_cluster(np.eye(9, dtype=np.float32)[:n], 3, 10, np.random.default_rng(0))
    assert found.kept.all()
    assert found.kept.shape == found.share.shape == (n,)
