from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from gnn.inference.evidence import MOST_BETWEEN, MOST_SCALE, PAIR_WEIGHT, RoundEvidence, round_evidence
from tests.gnn.parts import evidence_of, relations_of


@given(n=st.integers(1, 8), m=st.integers(1, 5), seed=st.integers(0, 10**6))
def test_symmetric_bounded_and_finite(n: int, m: int, seed: int) -> None:
    rng = np.random.default_rng(seed)
    pairs = [(i, j) for i in range(n) for j in range(i)]
    agree = [(i, j, float(rng.random())) for i, j in pairs]
    conflict = [(i, j, float(rng.random())) for i, j in pairs]
    holders = rng.random((n, m)) < 0.4
    trust = rng.random(n).astype(np.float32)
    found = round_evidence(
        relations_of(n, agree, conflict).gated(trust), holders, np.zeros(m, np.int8), trust
    )
    assert (found.left <= found.right).all()
    assert len(set(zip(found.left.tolist(), found.right.tolist(), strict=True))) == len(found.left)
    assert np.isfinite(found.weight).all()
    assert (found.weight >= 0).all()
    assert ((found.dispute >= 0) & (found.dispute <= 1)).all()
    assert 0 < found.scale <= 2.0
    assert (found.strength >= -1e-6).all()
    assert np.array_equal(found.present, holders.any(axis=0))


def test_numbers_by_hand() -> None:
    """Two sources, a document each, which agree at .6 and conflict at .2."""
    holders = np.eye(2, dtype=bool)
    trust = np.array([1.0, 0.5], np.float32)
    given_ = relations_of(2, [(0, 1, 0.6)], [(0, 1, 0.2)])
    found = round_evidence(given_, holders, np.array([0, 2], np.int8), trust)
    scale = min(MOST_SCALE, 2 / (1 + 1))  # each document is linked with one other source
    assert found.scale == pytest.approx(scale)
    assert (found.left.tolist(), found.right.tolist()) == ([0], [1])
    assert found.dispute == pytest.approx([0.2 / 0.8])
    assert found.weight == pytest.approx([PAIR_WEIGHT * scale * 0.8])
    assert found.levels.tolist() == [0, 2]
    assert found.strength == pytest.approx([PAIR_WEIGHT * scale * 0.8] * 2)


def test_a_text_that_two_sources_hold_is_related_to_itself() -> None:
    holders = np.array([[True, True, False], [False, False, True]])
    trust = np.array([0.5, 1.0], np.float32)
    found = round_evidence(relations_of(2, [(0, 1, 0.6)]), holders, np.zeros(3, np.int8), trust)
    assert list(zip(found.left.tolist(), found.right.tolist(), strict=True)) == [(0, 1), (0, 0)]
    assert found.weight == pytest.approx([PAIR_WEIGHT * found.scale * 0.6, PAIR_WEIGHT * found.scale * 0.25])
    assert found.dispute.tolist() == [0.0, 0.0]


def test_more_replication_makes_each_pair_count_less() -> None:
    def scale(n: int) -> float:
        agree = [(i, j, 0.9) for i in range(n) for j in range(i)]
        ones = np.ones(n, np.float32)
        return round_evidence(relations_of(n, agree), np.eye(n, dtype=bool), np.zeros(n, np.int8), ones).scale

    assert MOST_SCALE >= scale(2) > scale(4) > scale(8)


def test_a_round_without_documents() -> None:
    found = round_evidence(
        relations_of(0), np.zeros((0, 3), bool), np.zeros(3, np.int8), np.zeros(0, np.float32)
    )
    assert isinstance(found, RoundEvidence)
    assert not found.present.any()
    assert found.strength.tolist() == [0, 0, 0]


def test_pairs_are_summed_by_source_by_hand() -> None:
    """Two documents of one source, one of another, all three related."""
    holders = np.array([[True, False], [True, False], [False, True]])
    dispute = np.array([[0, 0, 0.2], [0, 0, 0.6], [0.2, 0.6, 0]], np.float32)
    weight = np.array([[0, 5, 1], [5, 0, 2], [1, 2, 0]], np.float32)
    evidence = evidence_of(holders, dispute, weight, np.zeros(2, np.int8), np.ones(2, bool), 1.0)
    r = 0.3

    def log(x: float) -> float:
        return float(np.log(r * x + (1 - r) * (1 - x)))

    (found,) = evidence.between(np.array([r]))
    assert found[0, 1] == found[1, 0] == pytest.approx(log(0.2) + 2 * log(0.6), rel=1e-6)
    assert found[0, 0] == found[1, 1] == 0.0
    rates = np.array([0.1, r])
    assert evidence.between(rates)[1] == pytest.approx(found)
    assert evidence.between(rates) is evidence.between(rates)  # remembered
    assert evidence.strength == pytest.approx([3.0, 3.0])


def test_what_two_sources_tell_each_other_is_bounded_however_many_texts_it_is_told_in() -> None:
    """One text each, or five each that make the same claim: the same evidence once the bound is reached."""

    def told(texts: int) -> float:
        n = 2 * texts
        holders = np.zeros((n, 2), bool)
        holders[:texts, 0] = holders[texts:, 1] = True
        weight = np.full((n, n), MOST_BETWEEN, np.float32) * (holders @ holders.T == 0)
        evidence = evidence_of(
            holders, np.zeros((n, n), np.float32), weight, np.zeros(2, np.int8), np.ones(2, bool), 1.0
        )
        return float(evidence.between(np.array([0.3]))[0, 0, 1])

    assert told(1) == pytest.approx(MOST_BETWEEN * np.log(0.7))
    assert told(5) == pytest.approx(told(1))
