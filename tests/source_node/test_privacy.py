"""DP choice of documents: the stated ε holds on neighbouring indexes, and the policy is kept."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable
from functools import cache
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from scipy.stats import beta

from core.config import parse
from core.errors import AccessError, BudgetError, ConfigError
from core.records import PrivacyRequest
from source_node.accountant import Accountant
from source_node.privacy import (
    MECHANISMS,
    PROVEN,
    PrivacyGate,
    PrivacyPolicy,
    _largest,
    gumbel_top_k,
    laplace_top_k,
    noisy_threshold,
)

DRAWS = 100_000
BEFORE = np.array([0.0, 0.5, 0.45, 0.4, 0.3, 0.2])
AFTER = np.array([1.0, 0.5, 0.45, 0.4, 0.3, 0.2])  # document 0 replaced: its score moves by the whole range
# coupled scores: replacing document 0 moves every score (an inverse document frequency changed)
COUPLED = np.array([1.0, 0.1, 0.1, 0.0, 0.0, 0.0])


@cache
def draws(mechanism: Callable[..., np.ndarray], scores: tuple[float, ...], k: int, epsilon: float) -> Counter:
    """How often each ordered result came out of DRAWS draws."""
    rng = np.random.default_rng(int(1000 * epsilon + 10 * sum(scores)))
    given_scores = np.array(scores)
    return Counter(tuple(mechanism(given_scores, k, epsilon, rng).tolist()) for _ in range(DRAWS))


def outcomes(mechanism: Callable[..., np.ndarray], scores: np.ndarray, k: int, epsilon: float) -> Counter:
    return draws(mechanism, tuple(scores.tolist()), k, epsilon)


def worst_log_ratio(left: Counter, right: Counter, confidence: float = 1e-6) -> float:
    """Largest lower confidence bound of |ln P(o)/Q(o)| over outcomes and over unions of outcomes.

    Clopper-Pearson bounds at `confidence` each: a mechanism that keeps its ε exceeds it with a
    probability below 2e-6 per event.
    """
    keys = sorted(left.keys() | right.keys())
    by_ratio = sorted(keys, key=lambda o: (left[o] + 1) / (right[o] + 1))
    events = [[key] for key in keys] + [by_ratio[:i] for i in range(1, len(by_ratio))]
    events += [[key for key in keys if 0 in key], [key for key in keys if 0 not in key]]
    worst = 0.0
    for event in events:
        a, b = sum(left[o] for o in event), sum(right[o] for o in event)
        for x, y in ((a, b), (b, a)):
            low = beta.ppf(confidence, x, DRAWS - x + 1) if x else 0.0
            high = beta.ppf(1 - confidence, y + 1, DRAWS - y) if y < DRAWS else 1.0
            if low > 0:
                worst = max(worst, math.log(low / high))
    return worst


@pytest.mark.parametrize("epsilon", [1.0, 3.0])
def test_laplace_keeps_its_epsilon_on_independent_scores(epsilon: float) -> None:
    left, right = outcomes(laplace_top_k, BEFORE, 2, epsilon), outcomes(laplace_top_k, AFTER, 2, epsilon)
    assert 0.3 * epsilon < worst_log_ratio(left, right) <= epsilon


@pytest.mark.parametrize(
    ("after", "epsilon"), [(AFTER, 1.0), (COUPLED, 1.0), (COUPLED, 3.0)], ids=["own", "coupled", "coupled-3"]
)
def test_gumbel_keeps_its_epsilon_even_on_coupled_scores(after: np.ndarray, epsilon: float) -> None:
    left, right = outcomes(gumbel_top_k, BEFORE, 2, epsilon), outcomes(gumbel_top_k, after, 2, epsilon)
    assert 0.0 < worst_log_ratio(left, right) <= epsilon


def laplace_of_a_third(scores: np.ndarray, k: int, epsilon: float, rng: np.random.Generator) -> np.ndarray:
    return laplace_top_k(scores, k, 3 * epsilon, rng)


def gumbel_without_its_factors(
    scores: np.ndarray, k: int, epsilon: float, rng: np.random.Generator
) -> np.ndarray:
    return gumbel_top_k(scores, k, 2 * k * epsilon, rng)


@pytest.mark.parametrize(
    ("broken", "after"), [(laplace_of_a_third, AFTER), (gumbel_without_its_factors, COUPLED)]
)
def test_the_test_has_teeth(broken: Callable[..., np.ndarray], after: np.ndarray) -> None:
    """A mechanism with too little noise is found out."""
    assert worst_log_ratio(outcomes(broken, BEFORE, 2, 1.0), outcomes(broken, after, 2, 1.0)) > 1.0


def test_noisy_threshold_is_not_private() -> None:
    """A document that is no candidate never comes out; replaced by a good one it often does."""
    before = np.concatenate([[0.0], np.linspace(0.5, 0.9, 9)])
    after = np.concatenate([[1.0], np.linspace(0.5, 0.9, 9)])
    left = outcomes(noisy_threshold, before, 2, 0.5)
    right = outcomes(noisy_threshold, after, 2, 0.5)
    assert sum(n for o, n in left.items() if 0 in o) == 0
    assert sum(n for o, n in right.items() if 0 in o) > DRAWS / 4
    assert worst_log_ratio(left, right) > 5.0
    assert "noisy-threshold" not in PROVEN


def test_noisy_threshold_is_a_coin_flip_between_nothing_and_everything() -> None:
    """Reference 6b: at ε = 3 about half of the answers are empty."""
    scores = np.concatenate([np.linspace(0.7, 0.585, 5), np.linspace(0.55, 0.4, 10), np.zeros(50)])
    found = outcomes(noisy_threshold, scores, 5, 3.0)
    assert 0.42 < found[()] / DRAWS < 0.54
    assert found[(0, 1, 2, 3, 4)] / DRAWS > 0.40


@given(
    arrays(np.float64, st.integers(0, 30), elements=st.floats(0, 1)), st.integers(1, 40), st.integers(0, 9)
)
def test_results_are_distinct_positions(scores: np.ndarray, k: int, seed: int) -> None:
    for name, mechanism in MECHANISMS.items():
        chosen = mechanism(scores, k, 1.0, np.random.default_rng(seed))
        assert len(set(chosen.tolist())) == len(chosen)
        assert len(chosen) <= min(k, len(scores))
        if name in PROVEN:
            assert len(chosen) == min(k, len(scores))


def test_much_epsilon_gives_the_exact_answer_and_little_gives_chance() -> None:
    scores = np.linspace(0, 1, 100)
    rng = np.random.default_rng(0)
    for mechanism in (laplace_top_k, gumbel_top_k):
        assert mechanism(scores, 3, 1e6, rng).tolist() == [99, 98, 97]
        mean = np.mean([mechanism(scores, 3, 1e-6, rng) for _ in range(500)])
        assert 40 < mean < 60


def test_largest_breaks_ties_by_position() -> None:
    assert _largest(np.array([1.0, 2.0, 2.0, 2.0]), 2).tolist() == [1, 2]
    assert _largest(np.array([]), 2).tolist() == []


def test_policy_refuses_what_it_does_not_offer() -> None:
    gate = PrivacyGate()
    assert gate.resolve(None) is None
    assert gate.resolve(PrivacyRequest("gumbel", 1.0)) == PrivacyRequest("gumbel", 1.0)
    with pytest.raises(AccessError, match="'noisy-threshold' is not offered; offered: laplace, gumbel"):
        gate.resolve(PrivacyRequest("noisy-threshold", 1.0))
    for epsilon in (0.0, -1.0, 11.0, math.inf, math.nan):
        with pytest.raises(AccessError, match="outside"):
            gate.resolve(PrivacyRequest("laplace", epsilon))


def test_required_privacy_covers_plain_requests() -> None:
    gate = PrivacyGate(PrivacyPolicy(required=True, epsilon=2.0))
    assert gate.resolve(None) == PrivacyRequest("laplace", 2.0)


def test_policy_is_checked() -> None:
    with pytest.raises(ConfigError, match="unknown mechanism 'lapalce'"):
        parse(PrivacyPolicy, {"mechanisms": ["lapalce"]}, "node.yaml")
    with pytest.raises(ConfigError, match="not among the mechanisms"):
        parse(PrivacyPolicy, {"mechanisms": ["gumbel"], "required": True}, "node.yaml")
    with pytest.raises(ConfigError, match="unknown key 'budgte'"):
        parse(PrivacyPolicy, {"budgte": 3}, "node.yaml")


def test_coupled_scores_need_gumbel() -> None:
    gate = PrivacyGate(seed=0)
    with pytest.raises(ConfigError, match="ask for gumbel"):
        gate.select(BEFORE, 2, PrivacyRequest("laplace", 1.0), independent=False)
    assert len(gate.select(BEFORE, 2, PrivacyRequest("gumbel", 1.0), independent=False)) == 2


def test_charge_comes_first_and_a_refusal_charges_nothing(tmp_path: Path) -> None:
    accountant = Accountant(tmp_path / "ledger.sqlite", budget=2.5)
    gate = PrivacyGate(accountant=accountant)
    for _ in range(2):
        gate.select(BEFORE, 2, PrivacyRequest("laplace", 1.0), "clinic")
    with pytest.raises(BudgetError):
        gate.select(BEFORE, 2, PrivacyRequest("laplace", 1.0), "clinic")
    with pytest.raises(ConfigError):
        gate.select(BEFORE, 2, PrivacyRequest("laplace", 0.1), "clinic", independent=False)
    assert accountant.spent("clinic") == 2.0
    gate.select(BEFORE, 2, PrivacyRequest("laplace", 1.0), "another")


def test_fresh_noise_for_every_answer_unless_seeded() -> None:
    scores = np.linspace(0, 1, 50)
    request = PrivacyRequest("laplace", 0.1)
    gate = PrivacyGate()
    assert len({tuple(gate.select(scores, 5, request, name="q")) for _ in range(8)}) == 8
    seeded = PrivacyGate(seed=3)
    assert len({tuple(seeded.select(scores, 5, request, name="q")) for _ in range(8)}) == 1
    assert tuple(seeded.select(scores, 5, request, name="q")) != tuple(
        seeded.select(scores, 5, request, name="r")
    )
