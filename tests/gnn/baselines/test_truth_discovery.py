from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from gnn.baselines.truth_discovery import start, truth_discovery
from tests.gnn.parts import relations_of

NAMES = ("a", "b", "c", "d")


def majority():
    """Three sources agree, the fourth contradicts them all."""
    agree = [(0, 1, 0.9), (0, 2, 0.9), (1, 2, 0.9)]
    return relations_of(4, agree, [(i, 3, 0.9) for i in range(3)]), np.eye(4, dtype=bool)


def test_the_majority_is_believed_and_its_sources_gain() -> None:
    related, holders = majority()
    belief, after = truth_discovery(related, holders, start(NAMES))
    assert (belief[:3] > 0.5).all()
    assert belief[3] < 0.5
    assert (after.trust[:3] > 0.7).all()
    assert after.trust[3] < 0.7
    assert after.rounds.tolist() == [1, 1, 1, 1]


def test_carried_trust_decides_a_tie() -> None:
    related = relations_of(2, conflict=[(0, 1, 0.9)])
    state = start(("a", "b"))
    state.trust[:] = [0.9, 0.2]
    belief, _ = truth_discovery(related, np.eye(2, dtype=bool), state)
    assert belief[0] > 0.5 > belief[1]


def test_copies_count_as_agreement_and_absent_sources_keep_their_trust() -> None:
    holders = np.array([[True, True, True, False], [False, False, False, True]])
    holders = np.column_stack([holders, [False, False]])
    belief, after = truth_discovery(
        relations_of(2, conflict=[(0, 1, 0.9)]), holders, start((*NAMES, "absent"))
    )
    assert belief[0] > belief[1]
    assert after.trust[4] == pytest.approx(0.7)
    assert after.rounds[4] == 0


@given(n=st.integers(1, 6), seed=st.integers(0, 10**6))
def test_always_shares(n: int, seed: int) -> None:
    rng = np.random.default_rng(seed)
    pairs = [(i, j) for i in range(n) for j in range(i)]
    related = relations_of(
        n, [(i, j, float(rng.random())) for i, j in pairs], [(i, j, float(rng.random())) for i, j in pairs]
    )
    belief, after = truth_discovery(related, rng.random((n, 4)) < 0.5, start(NAMES))
    assert ((belief >= 0) & (belief <= 1)).all()
    assert ((after.trust >= 0) & (after.trust <= 1)).all()
