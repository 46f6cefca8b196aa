from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sim.certificate import Certificate, certify, failure_at, risk

DECISIONS = st.lists(st.tuples(st.floats(-9, 9), st.booleans()), min_size=1, max_size=30)


def arrays(decisions) -> tuple[np.ndarray, np.ndarray]:
    logits, malicious = zip(*decisions, strict=True)
    return np.array(logits, float), np.array(malicious, bool)


@given(DECISIONS)
def test_it_is_the_best_of_all_margins(decisions):
    logits, malicious = arrays(decisions)
    found = certify(logits, malicious)
    assert found.failure == pytest.approx(failure_at(found.margin, logits, malicious))
    for margin in [*np.abs(logits), *np.linspace(0, 10, 50)]:
        other = Certificate(float(margin), failure_at(float(margin), logits, malicious))
        assert found.bound <= other.bound + 1e-12


@given(DECISIONS)
def test_the_bound_holds_on_the_decisions_that_it_was_made_of(decisions):
    logits, malicious = arrays(decisions)
    found = certify(logits, malicious)
    assert risk(logits, malicious) <= found.bound + 1e-12
    assert 0 <= found.limit <= found.bound <= 1 + 1e-12


def test_by_hand():
    logits = np.array([4.0, 4.0, 4.0, -4.0, -4.0, 1.0])
    malicious = np.array([False, False, False, True, True, True])
    found = certify(logits, malicious)
    assert (found.margin, found.failure) == (4.0, pytest.approx(1 / 6))
    assert found.bound == pytest.approx(1 / 6 + 5 / 6 * math.exp(-4))
    assert risk(logits, malicious) == pytest.approx(1 / 6)


def test_nothing_to_certify():
    with pytest.raises(ValueError, match="no decisions"):
        certify(np.zeros(0), np.zeros(0, bool))
