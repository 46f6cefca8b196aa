from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from defenses.ragpart.poll import Aggregation, Poll, aggregate, in_top


@given(
    hnp.arrays(np.float32, st.tuples(st.integers(1, 9), st.integers(1, 5)), elements=st.integers(-2, 2)),
    st.integers(1, 10),
)
def test_in_top_agrees_with_a_stable_sort(scores: np.ndarray, p: int) -> None:
    want = np.zeros(scores.shape, dtype=bool)
    order = np.argsort(-scores, axis=1, kind="stable")[:, :p]
    np.put_along_axis(want, order, True, axis=1)
    np.testing.assert_array_equal(in_top(scores, p), want)


def _poll(counts: list[int], means: list[float], n_lists: int = 10) -> Poll:
    return Poll(np.arange(10, 10 + len(counts)), np.array(counts), np.array(means, np.float32), n_lists)


def test_majority_orders_by_votes_then_similarity_then_row() -> None:
    poll = _poll([2, 9, 9, 2, 0, 2], [0.1, 0.2, 0.3, 0.1, 0.9, 0.5])
    ballot = aggregate(poll, 5, Aggregation.MAJORITY, np.random.default_rng(0))
    assert ballot.documents.tolist() == [12, 11, 15, 10, 13]
    assert ballot.shares.tolist() == [0.9, 0.9, 0.2, 0.2, 0.2]


def test_a_document_in_no_list_is_never_chosen() -> None:
    ballot = aggregate(_poll([3, 0], [0.1, 0.9]), 2, Aggregation.MAJORITY, np.random.default_rng(0))
    assert ballot.documents.tolist() == [10]


def test_intersection_wants_every_list_and_may_give_fewer() -> None:
    ballot = aggregate(
        _poll([10, 9, 10], [0.1, 0.9, 0.2]), 3, Aggregation.INTERSECTION, np.random.default_rng(0)
    )
    assert ballot.documents.tolist() == [12, 10]


def test_empty_intersection_draws_from_the_union_by_the_generator() -> None:
    poll = _poll([3, 4, 0, 5, 1], [0.5, 0.4, 0.9, 0.3, 0.2])
    draws = [
        tuple(aggregate(poll, 2, Aggregation.INTERSECTION, np.random.default_rng(s)).documents)
        for s in range(40)
    ]
    assert draws == [
        tuple(aggregate(poll, 2, Aggregation.INTERSECTION, np.random.default_rng(s)).documents)
        for s in range(40)
    ]
    assert len(set(draws)) > 3
    assert all(12 not in draw and len(set(draw)) == 2 for draw in draws)
