from __future__ import annotations

from itertools import product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sim.sweep.paired import compare_paired, holm, sign_flip


def rounds(values, name="correct"):
    return [{"query_id": f"q{i}", name: value} for i, value in enumerate(values)]


def test_equal_outcomes_do_not_differ():
    found = compare_paired(rounds([True, False, None]), rounds([True, False, True]), "correct")
    assert (found.difference, found.p, found.n) == (0.0, 1.0, 2)


def test_nothing_in_common_is_no_comparison():
    assert compare_paired(rounds([None]), rounds([True]), "correct") is None


def test_trials_of_a_question_count_once():
    first = [{"query_id": "q", "correct": True}, {"query_id": "q", "correct": False}]
    found = compare_paired(first, [{"query_id": "q", "correct": False}], "correct")
    assert (found.difference, found.n) == (0.5, 1)


@settings(max_examples=30, deadline=None)
@given(st.lists(st.sampled_from([-1.0, -0.5, 0.0, 0.5, 1.0]), min_size=1, max_size=7))
def test_few_differences_are_tested_exactly(values):
    moved = [v for v in values if v]
    signs = list(product((-1, 1), repeat=len(moved)))
    extreme = [abs(np.dot(s, moved)) >= abs(sum(moved)) - 1e-9 for s in signs]
    assert sign_flip(np.array(values)) == pytest.approx(np.mean(extreme) if moved else 1.0)


def test_many_differences_are_drawn_and_agree_with_the_sign_test():
    assert sign_flip(np.ones(20)) < 0.001
    balanced = np.array([1.0, -1.0] * 10)
    assert sign_flip(balanced) > 0.9
    assert sign_flip(balanced) == sign_flip(balanced)


def test_holm_by_hand():
    # sorted .01 < .05/4, .015 < .05/3, .03 >= .05/2: it stops there, and .04 goes with it
    assert holm([0.03, 0.01, 0.04, 0.015], 0.05) == [False, True, False, True]
    assert holm([], 0.05) == []


@given(st.lists(st.floats(0, 1), min_size=1, max_size=9))
def test_holm_is_between_bonferroni_and_no_correction(ps):
    found = holm(ps, 0.05)
    assert all(yes <= (p < 0.05) for p, yes in zip(ps, found, strict=True))
    assert all(yes >= (p < 0.05 / len(ps)) for p, yes in zip(ps, found, strict=True))
