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
    SuspicionConfig,
    content_levels,
    honest_rates,
    learn,
    level_log_likelihood,
)

CONFIG = SuspicionConfig()
NOTHING = np.zeros(3)


def test_a_source_has_the_level_of_its_worst_document() -> None:
    holders = np.zeros((6, 5), bool)
    holders[[0, 1, 2, 3, 4, 5], [0, 0, 1, 2, 3, 3]] = True  # source 4 did not answer
    margin = np.array([4.0, -0.01, FAR - 1, 0.0, 1.0, 3.0])
    assert content_levels(holders, margin).tolist() == [BELOW, FAR_BELOW, CLEAR, CLEAR, ABSENT]
    assert content_levels(np.zeros((0, 2), bool), np.zeros(0)).tolist() == [ABSENT, ABSENT]


def test_honest_rates_start_at_the_prior_and_follow_what_is_seen() -> None:
    assert honest_rates(NOTHING, CONFIG) == pytest.approx(np.array(CONFIG.honest) / sum(CONFIG.honest))
    flagged_often = honest_rates(np.array([200.0, 200.0, 0.0]), CONFIG)
    assert flagged_often[BELOW] > 0.4
    assert flagged_often.sum() == pytest.approx(1.0)


def test_a_flag_accuses_less_where_honest_sources_are_flagged_often() -> None:
    labelings = enumerate_labelings(5)
    levels = np.array([BELOW, CLEAR, CLEAR, CLEAR, CLEAR], np.int8)
    alone = (labelings == np.array([True, False, False, False, False])).all(axis=1)
    nobody = ~labelings.any(axis=1)

    def accusation(counts: np.ndarray) -> float:
        found = level_log_likelihood(labelings, levels, counts, CONFIG)
        return float(found[alone][0] - found[nobody][0])

    assert accusation(NOTHING) > 0
    assert accusation(np.array([100.0, 100.0, 0.0])) < accusation(NOTHING)


def test_where_all_are_flagged_the_round_is_hard_and_nobody_is_accused_much() -> None:
    labelings = enumerate_labelings(10)
    one = labelings.sum(axis=1) == 1
    nobody = ~labelings.any(axis=1)
    few, all_ = np.zeros(10, np.int8), np.full(10, FAR_BELOW, np.int8)
    few[0] = FAR_BELOW

    def most(levels: np.ndarray) -> float:
        found = level_log_likelihood(labelings, levels, NOTHING, CONFIG)
        return float(found[one].max() - found[nobody][0])

    assert most(few) > 2.0 > most(all_)


def test_absent_sources_say_nothing() -> None:
    labelings = enumerate_labelings(3)
    assert level_log_likelihood(labelings, np.full(3, ABSENT, np.int8), NOTHING, CONFIG).tolist() == [0.0] * 4


def test_learning_counts_sources_as_far_as_they_are_believed_and_forgets() -> None:
    after = learn(
        np.array([50.0, 0.0, 0.0]),
        np.array([CLEAR, BELOW, ABSENT], np.int8),
        np.array([0.9, 0.1, 1.0]),
        CONFIG,
    )
    assert after == pytest.approx([50 * (1 - 1 / CONFIG.memory) + 0.9, 0.1, 0.0])
