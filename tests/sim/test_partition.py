from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from core.errors import ConfigError, DataError
from sim.partition import cluster_labels, partition


def rng(seed: int = 0) -> np.random.Generator:
    return np.random.default_rng(seed)


@given(
    labels=st.lists(st.integers(0, 4), min_size=1, max_size=60),
    n_sources=st.integers(1, 12),
    alpha=st.floats(1e-6, 1e6),
    replication=st.integers(1, 5),
    min_size=st.integers(0, 4),
    seed=st.integers(0, 2**32),
)
def test_no_document_is_lost_and_copies_are_at_distinct_sources(
    labels: list[int], n_sources: int, alpha: float, replication: int, min_size: int, seed: int
) -> None:
    n = len(labels)
    replication = min(replication, n_sources)
    if n_sources > n or min_size > n or min_size * n_sources > n * replication:
        with pytest.raises(DataError):
            partition(labels, n_sources, alpha, replication, rng(seed), min_size)
        return
    made = partition(labels, n_sources, alpha, replication, rng(seed), min_size)
    assert (made.holders() == replication).all()
    for held in made.members:
        assert len(held) >= min_size
        assert list(held) == sorted(set(held.tolist()))
    assert made.report.sizes == tuple(len(held) for held in made.members)
    assert 0.0 <= made.report.mean_divergence <= 1.0
    assert all(entropy >= 0.0 for entropy in made.report.category_entropy)


@given(
    wordings=st.integers(1, 5),
    n_groups=st.integers(6, 20),
    replication=st.integers(1, 5),
    alpha=st.floats(0.05, 10),
    seed=st.integers(0, 2**32),
)
def test_groups_go_to_that_many_sources_and_lose_no_wording(
    wordings: int, n_groups: int, replication: int, alpha: float, seed: int
) -> None:
    groups = [g for g in range(n_groups) for _ in range(wordings)]
    made = partition([g % 3 for g in groups], 6, alpha, replication, rng(seed), 0, groups)
    assert (made.holders() >= 1).all()
    for g in range(n_groups):
        told = {i for i, group in enumerate(groups) if group == g}
        holders = [j for j, held in enumerate(made.members) if told & set(held.tolist())]
        assert len(holders) == replication
        if wordings == replication:
            assert all(len(told & set(made.members[j].tolist())) == 1 for j in holders)


def test_the_same_draws_give_the_same_partition() -> None:
    a, b = (partition(list("abc") * 40, 5, 0.5, 2, rng(7)) for _ in range(2))
    assert all((x == y).all() for x, y in zip(a.members, b.members, strict=True))
    assert a.report == b.report


def test_a_small_alpha_is_uneven_and_a_large_one_is_not() -> None:
    labels = np.arange(3000) % 6
    uneven, even = (partition(labels.tolist(), 10, alpha, 1, rng(1)).report for alpha in (0.05, 1000.0))
    assert uneven.mean_divergence > 0.5
    assert even.mean_divergence < 0.05
    assert max(even.sizes) - min(even.sizes) < 150
    assert np.mean(uneven.category_entropy) < 1.5 < 2.5 < np.mean(even.category_entropy)


def test_a_tiny_alpha_does_not_underflow() -> None:
    report = partition([0] * 100, 4, 1e-9, 1, rng(3), 0).report
    assert sorted(report.sizes) == [0, 0, 0, 100]


def test_labels_of_mixed_kind_are_categories() -> None:
    assert partition(["a", 1, "a", 2.5], 2, 1.0, 1, rng()).report.n_categories == 3


def test_divergence_of_two_sources_by_hand() -> None:
    for seed in range(50):
        made = partition([0, 1], 2, 1.0, 1, rng(seed))
        assert made.report.sizes == (1, 1)
        assert made.report.mean_divergence == pytest.approx(1.0)
        assert made.report.category_entropy == (0.0, 0.0)


@pytest.mark.parametrize(
    ("arguments", "error", "message"),
    [
        ((3, 1.0, 1, 1), DataError, "3 sources but 2 documents"),
        ((2, 1.0, 1, 2), DataError, "cannot give 2 sources 2 each"),
        ((0, 1.0, 1, 1), ConfigError, "at least one source"),
        ((2, 0.0, 1, 1), ConfigError, "alpha must be above 0"),
        ((2, float("nan"), 1, 1), ConfigError, "alpha must be above 0"),
        ((2, 1.0, 3, 1), ConfigError, r"1 to the number of sources \(2\), not 3"),
        ((2, 1.0, 0, 1), ConfigError, "not 0"),
        ((2, 1.0, 1, -1), ConfigError, "must not be negative"),
    ],
)
def test_what_cannot_be(arguments: tuple[int, float, int, int], error: type[Exception], message: str) -> None:
    n_sources, alpha, replication, min_size = arguments
    with pytest.raises(error, match=message):
        partition(["a", "b"], n_sources, alpha, replication, rng(), min_size)


def test_clusters_part_what_is_apart_and_are_never_more_than_rows() -> None:
    vectors = np.repeat(np.eye(3, dtype=np.float32), 20, axis=0)
    found = cluster_labels(vectors, 3, seed=0)
    assert len({tuple(found[i : i + 20]) for i in (0, 20, 40)}) == 3
    assert len(set(found.tolist())) == 3
    assert (found == cluster_labels(vectors, 3, seed=0)).all()
    assert cluster_labels(vectors[:2], 10, seed=0).shape == (2,)
