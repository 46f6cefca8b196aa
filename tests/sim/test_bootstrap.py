from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sim.bootstrap import auroc_interval, ratio, ratio_interval
from sim.metrics import auroc

counts = st.lists(
    st.tuples(st.integers(0, 5), st.integers(0, 5)).map(lambda pair: (min(pair), max(pair))),
    min_size=1,
    max_size=30,
)


@given(counts, st.integers(0, 2**32))
def test_an_interval_holds_its_ratio_and_stays_in_range(pairs, seed):
    above, below = [a for a, _ in pairs], [b for _, b in pairs]
    value = ratio(above, below)
    interval = ratio_interval(above, below, range(len(pairs)), np.random.default_rng(seed), resamples=50)
    assert (value is None) == (interval is None) == (sum(below) == 0)
    if interval is not None:
        assert 0.0 <= interval[0] <= value <= interval[1] <= 1.0


def test_equal_seeds_give_equal_intervals():
    data = ([1, 0, 1, 1, 0], [1, 1, 1, 1, 1], range(5))
    first = ratio_interval(*data, np.random.default_rng(7))
    assert first == ratio_interval(*data, np.random.default_rng(7))
    assert first != (0.6, 0.6)


def test_coverage_of_a_proportion_is_near_its_level():
    rng = np.random.default_rng(0)
    inside = 0
    for _ in range(200):
        hits = rng.random(60) < 0.3
        low, high = ratio_interval(hits, np.ones(60), range(60), rng, resamples=400)
        inside += low <= 0.3 <= high
    assert 0.88 <= inside / 200 <= 1.0


def test_rounds_of_one_question_are_not_independent():
    hits = [1, 0] * 20
    alone = ratio_interval(hits, [1] * 40, range(40), np.random.default_rng(0))
    repeated = ratio_interval(
        [h for h in hits for _ in range(5)], [1] * 200, np.repeat(range(40), 5), np.random.default_rng(0)
    )
    assert repeated == pytest.approx(alone, abs=0.02)
    assert ratio([], []) is None


def test_one_question_has_no_spread():
    assert ratio_interval([3], [4], ["q"], np.random.default_rng(0)) == (0.75, 0.75)


@given(
    st.lists(
        st.tuples(st.sampled_from([0.1, 0.4, 0.4, 0.8]), st.booleans(), st.integers(0, 4)),
        min_size=1,
        max_size=30,
    ),
    st.integers(0, 2**32),
)
def test_an_interval_holds_the_area_under_the_curve(documents, seed):
    scores, positive, clusters = (np.array(column) for column in zip(*documents, strict=True))
    value = auroc(scores, positive)
    interval = auroc_interval(scores, positive, clusters, np.random.default_rng(seed), resamples=20)
    assert (value is None) == (interval is None)
    if value is not None:
        assert interval[0] - 1e-9 <= value <= interval[1] + 1e-9
        assert 0.0 <= interval[0] <= interval[1] <= 1.0


def test_more_rounds_make_the_interval_of_an_area_narrower():
    rng = np.random.default_rng(0)

    def width(rounds: int) -> float:
        positive = rng.random(10 * rounds) < 0.5
        scores = positive + rng.normal(size=10 * rounds)
        low, high = auroc_interval(scores, positive, np.repeat(np.arange(rounds), 10), rng)
        return high - low

    assert width(100) < width(5)
