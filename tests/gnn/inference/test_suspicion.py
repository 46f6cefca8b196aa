from __future__ import annotations

import numpy as np
import pytest

from gnn.inference.source_filter import enumerate_labelings
from gnn.inference.suspicion import (
    ABSENT,
    BELOW,
    CLEAR,
    FAR,
    FAR_BELOW,
    NEAR,
    NEAR_ABOVE,
    SuspicionConfig,
    content_levels,
    honest_rates,
    learn,
    level_log_likelihood,
)

CONFIG = SuspicionConfig()


def counts(*rows: tuple[float, float, float, float]) -> np.ndarray:
    return np.array(rows, dtype=float).reshape(-1, 4)


NOTHING = counts()


def test_a_source_has_the_level_of_its_worst_document() -> None:
    holders = np.zeros((6, 5), bool)
    holders[[0, 1, 2, 3, 4, 5], [0, 0, 1, 2, 3, 3]] = True  # source 4 did not answer
    margin = np.array([4.0, -0.01, FAR - 1, 0.0, NEAR_ABOVE, 3.0])
    assert content_levels(holders, margin).tolist() == [BELOW, FAR_BELOW, NEAR, CLEAR, ABSENT]
    assert content_levels(np.zeros((0, 2), bool), np.zeros(0)).tolist() == [ABSENT, ABSENT]


def test_honest_rates_start_at_the_prior_and_follow_what_is_seen() -> None:
    assert honest_rates(NOTHING, CONFIG) == pytest.approx(np.array(CONFIG.honest) / sum(CONFIG.honest))
    flagged_often = honest_rates(counts(*[(40.0, 0.0, 40.0, 0.0)] * 5), CONFIG)
    assert flagged_often[BELOW] > 0.4
    assert flagged_often.sum() == pytest.approx(1.0)


def test_as_many_sources_as_may_lie_cannot_teach_that_flags_mean_nothing() -> None:
    honest, liar = (40.0, 1.0, 0.0, 0.0), (0.0, 0.0, 20.0, 20.0)
    for m in (5, 10):
        liars = (m - 1) // 2
        found = honest_rates(counts(*[liar] * liars, *[honest] * (m - liars)), CONFIG)
        assert found == pytest.approx(honest_rates(counts(*[honest] * (m - liars)), CONFIG), abs=0.02)
        assert found[BELOW] + found[FAR_BELOW] < 0.1


def test_a_flag_accuses_less_where_honest_sources_are_flagged_often() -> None:
    labelings = enumerate_labelings(5)
    levels = np.array([BELOW, CLEAR, CLEAR, CLEAR, CLEAR], np.int8)
    alone = (labelings == np.array([True, False, False, False, False])).all(axis=1)
    nobody = ~labelings.any(axis=1)

    def accusation(seen: np.ndarray) -> float:
        found, _ = level_log_likelihood(labelings, levels, seen, CONFIG)
        return float(found[alone][0] - found[nobody][0])

    assert accusation(NOTHING) > 0
    assert accusation(counts(*[(20.0, 0.0, 20.0, 0.0)] * 5)) < accusation(NOTHING)


def test_where_all_are_flagged_the_round_is_hard_and_nobody_is_accused_much() -> None:
    labelings = enumerate_labelings(10)
    one = labelings.sum(axis=1) == 1
    nobody = ~labelings.any(axis=1)
    few, all_ = np.zeros(10, np.int8), np.full(10, FAR_BELOW, np.int8)
    few[0] = FAR_BELOW

    def most(levels: np.ndarray) -> float:
        found, _ = level_log_likelihood(labelings, levels, NOTHING, CONFIG)
        return float(found[one].max() - found[nobody][0])

    assert most(few) > 2.0 > most(all_)


def test_absent_sources_say_nothing() -> None:
    labelings = enumerate_labelings(3)
    planted, unplanted = level_log_likelihood(labelings, np.full(3, ABSENT, np.int8), NOTHING, CONFIG)
    assert planted.tolist() == [0.0] * 4
    assert unplanted == 0.0


def test_liars_who_plant_nothing_look_like_honest_sources() -> None:
    """Then every labeling explains the levels as well as the one in which nobody lies."""
    labelings = enumerate_labelings(6)
    levels = np.array([CLEAR, NEAR, CLEAR, FAR_BELOW, CLEAR, CLEAR], np.int8)
    planted, unplanted = level_log_likelihood(labelings, levels, NOTHING, CONFIG)
    assert planted[~labelings.any(axis=1)] == pytest.approx([unplanted])
    assert planted.max() > unplanted > planted.min()


def test_a_source_that_stays_near_the_threshold_is_suspect_where_others_stay_clear() -> None:
    labelings = enumerate_labelings(5)
    levels = np.array([NEAR, NEAR, CLEAR, CLEAR, CLEAR], np.int8)
    seen = counts(*[(0.0, 30.0, 0.0, 0.0)] * 2, *[(30.0, 0.0, 0.0, 0.0)] * 3)
    planted, _ = level_log_likelihood(labelings, levels, seen, CONFIG)
    assert labelings[planted.argmax()].tolist() == [True, True, False, False, False]


def test_learning_counts_each_source_and_forgets_while_it_answers() -> None:
    after = learn(
        counts((50.0, 0.0, 0.0, 0.0), (0.0, 0.0, 0.0, 0.0), (3.0, 1.0, 0.0, 0.0)),
        np.array([CLEAR, BELOW, ABSENT], np.int8),
        CONFIG,
    )
    assert after.tolist() == [[50 * (1 - 1 / CONFIG.memory) + 1, 0, 0, 0], [0, 0, 1, 0], [3, 1, 0, 0]]
