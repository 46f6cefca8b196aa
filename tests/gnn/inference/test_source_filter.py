"""The exact filter against an enumeration written here in plain loops."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gnn.inference.evidence import RoundEvidence
from gnn.inference.source_filter import FilterConfig, SourceBeliefs, SourceFilter, enumerate_labelings
from gnn.inference.suspicion import BELOW, CLEAR, FAR_BELOW, LEVELS, NEAR
from tests.gnn.inference.brute_force import (
    CONFIG,
    WAYS,
    after_round,
    assert_same,
    honesty,
    learned,
    next_prior,
    prior,
)
from tests.gnn.parts import evidence_of, random_evidence


@settings(max_examples=8)
@given(m=st.integers(2, 5), seed=st.integers(0, 10**6), extra=st.integers(0, 3))
def test_posterior_and_transition_equal_brute_force_over_three_rounds(m: int, seed: int, extra: int) -> None:
    rng = np.random.default_rng(seed)
    source_filter = SourceFilter()
    beliefs, state, counts = source_filter.start(tuple("abcdefgh"[:m])), prior(m), [[0.0] * LEVELS] * m
    assert_same(beliefs, state)
    for _ in range(3):
        evidence = random_evidence(rng, m, liars=[0], n=m + extra)
        beliefs, state = source_filter.update(beliefs, evidence), after_round(state, evidence, counts)
        assert_same(beliefs, state)
        assert beliefs.honest == pytest.approx(honesty(state, m), rel=1e-6)
        anyone = [
            sum(p for (z, _), p in state.items() if any(h and not lie for h, lie in zip(row, z, strict=True)))
            for row in evidence.holders
        ]
        assert beliefs.any_honest(evidence.holders) == pytest.approx(anyone, rel=1e-6)
        means = [sum(p * WAYS[w][k] for (_, w), p in state.items()) for k in range(4)]
        assert tuple(beliefs.expected(CONFIG)) == pytest.approx(means, rel=1e-6)
        counts = learned(counts, evidence)
        beliefs, state = source_filter.predict(beliefs, evidence), next_prior(state, evidence)
        assert_same(beliefs, state)
        assert beliefs.levels == pytest.approx(np.array(counts), rel=1e-6)


def test_a_text_that_several_sources_hold_counts_as_agreement_between_them() -> None:
    holders = np.array([[True, True, False], [False, False, True]])
    weight = np.array([[2.0, 0.0], [0.0, 0.0]], np.float32)
    evidence = evidence_of(
        holders, np.zeros((2, 2), np.float32), weight, np.zeros(3, np.int8), np.ones(3, bool), 1.0
    )
    state = after_round(prior(3), evidence, [[0.0] * LEVELS] * 3)
    beliefs = SourceFilter().update(SourceFilter().start(("a", "b", "c")), evidence)
    assert_same(beliefs, state)
    assert beliefs.honest[0] > beliefs.honest[2]


@pytest.mark.parametrize("m", range(1, 13))
def test_labelings_are_all_and_only_those_within_the_breakdown_bound(m: int) -> None:
    found = enumerate_labelings(m)
    bound = SourceFilter.breakdown(m)
    assert bound == (m - 1) // 2
    assert len(found) == sum(math.comb(m, f) for f in range(bound + 1))
    assert len(np.unique(found, axis=0)) == len(found)
    assert found.sum(axis=1).max() == bound


def planted(m: int, liars: range, rounds: int = 8) -> SourceBeliefs:
    rng = np.random.default_rng(m)
    source_filter = SourceFilter()
    beliefs = source_filter.start(tuple(f"s{j}" for j in range(m)))
    for _ in range(rounds):
        evidence = random_evidence(rng, m, liars=list(liars), n=3 * m)
        evidence = replace(evidence, levels=np.zeros(m, np.int8), present=np.ones(m, bool))
        prior_ = source_filter.update(beliefs, evidence)
        beliefs = source_filter.predict(prior_, evidence)
    return prior_


@pytest.mark.parametrize("m", [3, 5, 8, 10])
def test_colluding_liars_up_to_the_bound_are_named(m: int) -> None:
    bound = SourceFilter.breakdown(m)
    honest = planted(m, range(bound)).honest
    assert (honest[:bound] < 0.05).all()
    assert (honest[bound:] > 0.95).all()


@pytest.mark.parametrize("m", [3, 5, 7])
def test_beyond_the_bound_the_minority_is_blamed(m: int) -> None:
    """One colluding liar more than the bound: an honest majority is an assumption, not a finding."""
    liars = SourceFilter.breakdown(m) + 1
    honest = planted(m, range(liars)).honest
    assert (honest[:liars] > 0.5).all()
    assert (honest[liars:] < 0.5).all()


def test_without_evidence_beliefs_drift_slowly_and_stay_probabilities() -> None:
    source_filter = SourceFilter()
    m = 4
    nothing = evidence_of(
        np.zeros((0, m), bool), np.zeros((0, 0), np.float32), np.zeros((0, 0), np.float32),
        np.full(m, -1, np.int8), np.zeros(m, bool), 2.0,
    )  # fmt: skip
    start = source_filter.start(("a", "b", "c", "d"))
    beliefs = source_filter.predict(source_filter.update(start, nothing), nothing)
    assert beliefs.honest == pytest.approx(start.honest)
    assert beliefs.rounds == 1
    assert float(beliefs.mass.sum()) == pytest.approx(1.0)


def test_a_flag_alone_lowers_only_its_source() -> None:
    m = 5
    levels = np.array([FAR_BELOW, 0, 0, 0, 0], np.int8)
    evidence = evidence_of(
        np.eye(m, dtype=bool), np.zeros((m, m), np.float32), np.zeros((m, m), np.float32),
        levels, np.ones(m, bool), 2.0,
    )  # fmt: skip
    start = SourceFilter().start(tuple("abcde"))
    after = SourceFilter().update(start, evidence).honest
    assert after[0] < start.honest[0]
    assert (after[1:] > start.honest[1:]).all()


def test_one_round_alone_cannot_settle_a_source() -> None:
    """Relations may mislead a whole round, so its evidence is bounded however strong it looks."""
    m = 5
    dispute = np.zeros((m, m), np.float32)
    dispute[0, 1:] = dispute[1:, 0] = 1.0
    for strength in (5.0, 500.0):
        weight = np.full((m, m), strength, np.float32)
        np.fill_diagonal(weight, 0.0)
        evidence = evidence_of(
            np.eye(m, dtype=bool), dispute, weight, np.zeros(m, np.int8), np.ones(m, bool), 1.0
        )
        after = SourceFilter().update(SourceFilter().start(tuple("abcde")), evidence)
        assert np.isfinite(after.log_mass).all()
        assert after.honest[0] < 0.5 < after.honest[1]


def honest_after_each(rounds: Iterable[RoundEvidence], m: int = 10) -> list[np.ndarray]:
    """Reliability of m sources after each of `rounds`, beliefs carried from one to the next."""
    source_filter = SourceFilter()
    beliefs = source_filter.start(tuple(f"s{i}" for i in range(m)))
    found = []
    for evidence in rounds:
        beliefs = source_filter.update(beliefs, evidence)
        found.append(beliefs.honest)
        beliefs = source_filter.predict(beliefs, evidence)
    return found


def test_flagged_sources_that_hold_one_text_are_not_believed_for_long() -> None:
    """Four of ten share a text and are flagged in every round; false conflicts among the others speak for them."""
    m, rng, rounds = 10, np.random.default_rng(0), []
    holders = np.zeros((7, m), bool)
    holders[0, :4] = True
    holders[np.arange(1, 7), np.arange(4, 10)] = True
    for _ in range(20):
        weight, dispute = np.zeros((7, 7), np.float32), np.zeros((7, 7), np.float32)
        weight[0, 0] = 1.0
        for _ in range(2):
            a, b = rng.choice(np.arange(1, 7), 2, replace=False)
            weight[a, b] = weight[b, a] = dispute[a, b] = dispute[b, a] = 1.0
        levels = np.array([BELOW] * 4 + [0] * 6, np.int8)
        rounds.append(evidence_of(holders, dispute, weight, levels, np.ones(m, bool), 1.0))
    honest = honest_after_each(rounds)[-1]
    assert honest[:4].max() < 0.1
    assert honest[4:].min() > 0.9


def test_liars_who_repeat_one_claim_do_not_outvote_sources_who_each_hold_something_else() -> None:
    """Four liars with five texts each that all agree, just above the content threshold; the other six hold
    unrelated documents, of which some look like conflicts. By number of agreements alone the liars would win.
    """
    m, rng, rounds = 10, np.random.default_rng(0), []
    holders = np.zeros((26, m), bool)
    holders[np.arange(20), np.arange(20) // 5] = True
    holders[np.arange(20, 26), np.arange(4, 10)] = True
    levels = np.array([NEAR] * 4 + [CLEAR] * 6, np.int8)
    for _ in range(20):
        weight, dispute = np.zeros((26, 26), np.float32), np.zeros((26, 26), np.float32)
        weight[:20, :20] = 1.2 * (holders[:20] @ holders[:20].T == 0)
        dispute[:20, :20] = 0.15 * (weight[:20, :20] > 0)
        for _ in range(3):
            a, b = rng.choice(np.arange(20, 26), 2, replace=False)
            weight[a, b] = weight[b, a] = dispute[a, b] = dispute[b, a] = 1.0
        rounds.append(evidence_of(holders, dispute, weight, levels, np.ones(m, bool), 0.8))
    honest = honest_after_each(rounds)[-1]
    assert honest[:4].max() < 0.1
    assert honest[4:].min() > 0.9


def test_sources_that_nothing_is_held_against_are_cleared_of_an_early_slip() -> None:
    """One false conflict in the first round, then rounds without any relation in which all texts look sound."""
    m = 10
    conflict = np.zeros((m, m), np.float32)
    conflict[0, 1] = conflict[1, 0] = 1.0
    slip, quiet = (
        evidence_of(np.eye(m, dtype=bool), x, 1.2 * x, np.full(m, CLEAR, np.int8), np.ones(m, bool), 0.8)
        for x in (conflict, np.zeros_like(conflict))
    )
    honest = honest_after_each([slip] + [quiet] * 29)
    assert honest[0][:2].max() < honest[0][2:].min()
    assert honest[-1].min() > 0.95


def test_rounds_that_mislead_have_a_share() -> None:
    with pytest.raises(ValueError, match="misled_share is 0"):
        FilterConfig(misled_share=0.0)
