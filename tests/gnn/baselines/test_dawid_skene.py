from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from gnn.baselines.dawid_skene import dawid_skene
from gnn.baselines.truth_discovery import start
from tests.gnn.baselines.test_truth_discovery import NAMES, majority
from tests.gnn.parts import relations_of


def test_the_answer_of_the_majority_wins() -> None:
    related, holders = majority()
    belief, after = dawid_skene(related, holders, start(NAMES))
    assert (belief[:3] > 0.9).all()
    assert belief[3] < 0.1
    assert belief[0] + belief[3] == pytest.approx(1.0)  # two answers of one item
    assert after.trust[0] > 0.7 > after.trust[3]


def test_a_known_liar_is_outvoted_by_one_good_source() -> None:
    state = start(("a", "b", "c"))
    state.trust[:] = [0.95, 0.2, 0.2]
    agree, conflict = [(1, 2, 0.9)], [(0, 1, 0.9), (0, 2, 0.9)]
    belief, _ = dawid_skene(relations_of(3, agree, conflict), np.eye(3, dtype=bool), state)
    assert belief[0] > 0.5 > belief[1]


def test_a_document_that_stands_alone_is_as_credible_as_its_best_holder() -> None:
    state = start(("a", "b"))
    state.trust[:] = [0.3, 0.8]
    holders = np.array([[True, False], [True, True]])
    belief, _ = dawid_skene(relations_of(2), holders[:1], state)
    assert belief[0] == pytest.approx(0.3)


def test_where_nobody_disagrees_all_must_err_together() -> None:
    state = start(("a", "b"))
    state.trust[:] = [0.8, 0.5]
    belief, _ = dawid_skene(relations_of(2, [(0, 1, 0.9)]), np.eye(2, dtype=bool), state)
    assert belief == pytest.approx([0.9, 0.9], abs=0.05)


def test_sources_without_a_vote_keep_their_accuracy() -> None:
    related, holders = majority()
    _, after = dawid_skene(related, np.column_stack([holders, np.zeros(4, bool)]), start((*NAMES, "absent")))
    assert after.trust[4] == pytest.approx(0.7)


@given(n=st.integers(1, 6), seed=st.integers(0, 10**6))
def test_always_shares(n: int, seed: int) -> None:
    rng = np.random.default_rng(seed)
    pairs = [(i, j) for i in range(n) for j in range(i)]
    related = relations_of(
        n, [(i, j, float(rng.random())) for i, j in pairs], [(i, j, float(rng.random())) for i, j in pairs]
    )
    belief, after = dawid_skene(related, rng.random((n, 4)) < 0.5, start(NAMES))
    assert ((belief >= 0) & (belief <= 1)).all()
    assert ((after.trust >= 0) & (after.trust <= 1)).all()
