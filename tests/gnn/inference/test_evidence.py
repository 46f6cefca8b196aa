from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from gnn.inference.evidence import PAIR_WEIGHT, RoundEvidence, content_suspicion, round_evidence
from tests.gnn.parts import relations_of


@given(n=st.integers(1, 8), m=st.integers(1, 5), seed=st.integers(0, 10**6))
def test_symmetric_bounded_and_finite(n: int, m: int, seed: int) -> None:
    rng = np.random.default_rng(seed)
    pairs = [(i, j) for i in range(n) for j in range(i)]
    agree = [(i, j, float(rng.random())) for i, j in pairs]
    conflict = [(i, j, float(rng.random())) for i, j in pairs]
    holders = rng.random((n, m)) < 0.4
    trust = rng.random(n).astype(np.float32)
    found = round_evidence(relations_of(n, agree, conflict).gated(trust), holders, np.zeros(m), trust)
    assert np.array_equal(found.weight, found.weight.T)
    assert np.array_equal(found.dispute, found.dispute.T)
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
    found = round_evidence(given_, holders, np.array([-0.3, 2.0]), trust)
    scale = 2 / (1 + 1)  # each document is linked with one other source
    assert found.scale == pytest.approx(scale)
    assert found.dispute[0, 1] == pytest.approx(0.2 / 0.8)
    assert found.weight[0, 1] == pytest.approx(PAIR_WEIGHT * scale * 0.8)
    assert np.diagonal(found.weight) == pytest.approx(PAIR_WEIGHT * scale * trust**2)
    assert found.suspicion.tolist() == [-0.3, 2.0]
    assert found.strength == pytest.approx([PAIR_WEIGHT * scale * 0.8] * 2)


def test_more_replication_makes_each_pair_count_less() -> None:
    def scale(n: int) -> float:
        agree = [(i, j, 0.9) for i in range(n) for j in range(i)]
        ones = np.ones(n, np.float32)
        return round_evidence(relations_of(n, agree), np.eye(n, dtype=bool), np.zeros(n), ones).scale

    assert scale(2) > scale(4) > scale(8)


def test_a_round_without_documents() -> None:
    found = round_evidence(relations_of(0), np.zeros((0, 3), bool), np.zeros(3), np.zeros(0, np.float32))
    assert isinstance(found, RoundEvidence)
    assert not found.present.any()
    assert found.strength.tolist() == [0, 0, 0]


def test_suspicion_is_of_the_worst_document_grows_with_its_distance_and_is_bounded() -> None:
    holders = np.zeros((6, 5), bool)
    holders[[0, 1, 2, 3, 4, 5], [0, 0, 1, 2, 3, 3]] = True  # source 4 did not answer
    margin = np.array([4.0, -0.01, -2.0, -99.0, 1.0, 3.0])
    found = content_suspicion(holders, margin, least=0.5, gain=1.0, most=3.0, unsuspected=-0.25)
    assert found == pytest.approx([0.51, 2.5, 3.0, -0.25, 0.0])
