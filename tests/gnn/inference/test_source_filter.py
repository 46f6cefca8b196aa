"""The exact filter against an enumeration written here in plain loops."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gnn.inference.evidence import MOST_BETWEEN, RoundEvidence
from gnn.inference.source_filter import FilterConfig, SourceBeliefs, SourceFilter, enumerate_labelings
from gnn.inference.suspicion import BELOW, CLEAR, FAR_BELOW, LEVELS, NEAR
from tests.gnn.parts import random_evidence

Labeling = tuple[bool, ...]
State = dict[tuple[Labeling, int], float]
Counts = list[list[float]]  # of each source, how often it showed each content level
CONFIG = FilterConfig()
WAYS = [
    (rate, colluding, noise, planting)
    for planting in (False, True)
    for noise in CONFIG.honest_noise
    for colluding in (False, True)
    for rate in CONFIG.lie_rates
]


def allowed(m: int) -> list[Labeling]:
    return [z for z in itertools.product((False, True), repeat=m) if sum(z) <= (m - 1) // 2]


def pairs(evidence: RoundEvidence, rate_of) -> float:
    """Log-likelihood of all related document pairs, `rate_of(a, b)` the conflict rate of two sources.

    What two sources tell each other weighs `MOST_BETWEEN` together, or less.
    """
    n, m = evidence.holders.shape
    total = 0.0
    for a in range(m):
        for b in range(a + 1, m):
            r = min(rate_of(a, b), 0.97)
            told, weight = 0.0, 0.0
            for i in range(n):
                for k in range(n):
                    if evidence.holders[i, a] and evidence.holders[k, b]:
                        x, w = float(evidence.dispute[i, k]), float(evidence.weight[i, k])
                        told += w * math.log(r * x + (1 - r) * (1 - x))
                        weight += w
            total += told if weight <= MOST_BETWEEN else told * MOST_BETWEEN / weight
    return total


def flags(z: Labeling, evidence: RoundEvidence, counts: Counts, planting: bool) -> float:
    """Likelihood of the content levels: an ordinary round, or one that is hard for everybody.

    Liars who plant nothing show the levels of honest sources.
    """
    s = CONFIG.suspicion
    prior = [s.prior_rounds * p for p in s.honest]
    shares = [(sum(own[1:]) + sum(prior[1:])) / (sum(own) + sum(prior)) for own in counts]
    honest = len(counts) - (len(counts) - 1) // 2  # so many are: those flagged least
    least = sorted(range(len(counts)), key=lambda j: (shares[j], j))[:honest]
    seen = [p + sum(counts[j][level] for j in least) for level, p in enumerate(prior)]
    rates = [n / sum(seen) for n in seen]
    ordinary, hard = 1 - s.hard_share, s.hard_share
    for lies, level in zip(z, evidence.levels.tolist(), strict=True):
        if level >= 0:
            marked = lies and planting
            ordinary *= s.liar[level] if marked else rates[level]
            hard *= max(s.liar[level], s.hard[level]) if marked else s.hard[level]
    return ordinary + hard


def likelihood(
    z: Labeling,
    evidence: RoundEvidence,
    counts: Counts,
    rate: float,
    colluding: bool,
    noise: float,
    planting: bool,
) -> float:
    """Likelihood of a round: its relations tell something, or mislead as a whole; times its flags."""

    def rate_of(a: int, b: int) -> float:
        one = 1 - (1 - noise) * (1 - rate)
        if z[a] and z[b]:
            return noise + 0.1 * rate if colluding else 1 - (1 - one) * (1 - rate)
        return one if z[a] or z[b] else noise

    telling = math.exp(pairs(evidence, rate_of))
    misled = math.exp(pairs(evidence, lambda a, b: 0.5))
    mixed = (1 - CONFIG.misled_share) * telling + CONFIG.misled_share * misled
    return mixed * flags(z, evidence, counts, planting)


def way_prior(w: int) -> float:
    _, _, noise, planting = WAYS[w]
    share = CONFIG.noise_prior[CONFIG.honest_noise.index(noise)] / sum(CONFIG.noise_prior)
    return share * (CONFIG.planting if planting else 1 - CONFIG.planting) / (2 * len(CONFIG.lie_rates))


def prior(m: int) -> State:
    c = CONFIG
    state = {}
    for z in allowed(m):
        liars, most = sum(z), (m - 1) // 2
        alone = [c.prior_liar**k * (1 - c.prior_liar) ** (m - k) for k in range(most + 1)]
        some = sum(math.comb(m, k) * p for k, p in enumerate(alone))
        p = (alone[liars] / some + 1 / (most + 1) / math.comb(m, liars)) / 2
        for w in range(len(WAYS)):
            state[z, w] = p * way_prior(w)
    return normalised(state)


def normalised(state: State) -> State:
    total = sum(state.values())
    return {key: value / total for key, value in state.items()}


def after_round(state: State, evidence: RoundEvidence, counts: Counts) -> State:
    return normalised({(z, w): p * likelihood(z, evidence, counts, *WAYS[w]) for (z, w), p in state.items()})


def honesty(state: State, m: int) -> list[float]:
    return [sum(p for (z, _), p in state.items() if not z[j]) for j in range(m)]


def learned(counts: Counts, evidence: RoundEvidence) -> Counts:
    """Content levels of each source, older rounds fading while it answers."""
    after = []
    for own, level in zip(counts, evidence.levels.tolist(), strict=True):
        fade = 1 - 1 / CONFIG.suspicion.memory if level >= 0 else 1.0
        after.append([n * fade + (k == level) for k, n in enumerate(own)])
    return after


def next_prior(state: State, evidence: RoundEvidence) -> State:
    c = CONFIG
    m = evidence.holders.shape[1]
    pace = []
    for j in range(m):
        strength = sum(
            float(evidence.weight[i, k])
            for i in np.flatnonzero(evidence.holders[:, j])
            for b in range(m)
            if b != j
            for k in np.flatnonzero(evidence.holders[:, b])
        )
        pace.append(min(1.0, (strength + float(evidence.present[j])) / c.full_evidence))

    def change(z: Labeling, to: Labeling) -> float:
        p = 1.0
        for j in range(m):
            turn, back = c.becomes_liar * pace[j], c.becomes_honest * pace[j]
            p *= (back if not to[j] else 1 - back) if z[j] else (turn if to[j] else 1 - turn)
        return p

    moved = {
        (to, w): sum(state[z, w] * change(z, to) for z in allowed(m))
        for to in allowed(m)
        for w in range(len(WAYS))
    }
    kinds = (False, True)
    before: dict[tuple[Labeling, bool, int], float] = {}  # by labeling, planting, and the way besides
    for z in allowed(m):
        for planting in kinds:
            columns = [w for w in range(len(WAYS)) if WAYS[w][3] == planting]
            whole, every = sum(moved[z, w] for w in columns), sum(way_prior(w) for w in columns)
            for besides, w in enumerate(columns):
                share = way_prior(w) / every
                before[z, planting, besides] = (1 - c.spread) * moved[z, w] + c.spread * whole * share
    after: State = {}
    for z in allowed(m):
        for w in range(len(WAYS)):
            planting, besides = WAYS[w][3], w % (len(WAYS) // 2)
            not_yet, already = (before[z, kind, besides] for kind in kinds)
            if not any(z):
                after[z, w] = (not_yet + already) * (c.planting if planting else 1 - c.planting)
            elif planting:
                after[z, w] = c.starts_planting * not_yet + (1 - c.stops_planting) * already
            else:
                after[z, w] = (1 - c.starts_planting) * not_yet + c.stops_planting * already
    return normalised(after)


def as_state(beliefs: SourceBeliefs) -> State:
    mass = beliefs.mass
    return {
        (tuple(map(bool, z)), w): float(mass[k, w])
        for k, z in enumerate(beliefs.labelings)
        for w in range(mass.shape[1])
    }


def assert_same(beliefs: SourceBeliefs, state: State) -> None:
    found = as_state(beliefs)
    assert found.keys() == state.keys()
    for key, value in state.items():
        assert found[key] == pytest.approx(value, rel=1e-6, abs=1e-12)


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
    evidence = RoundEvidence(
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
        evidence = RoundEvidence(
            evidence.holders, evidence.dispute, evidence.weight, np.zeros(m, np.int8), np.ones(m, bool), 1.0
        )
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
    nothing = RoundEvidence(
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
    evidence = RoundEvidence(
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
        evidence = RoundEvidence(
            np.eye(m, dtype=bool), dispute, weight, np.zeros(m, np.int8), np.ones(m, bool), 1.0
        )
        after = SourceFilter().update(SourceFilter().start(tuple("abcde")), evidence)
        assert np.isfinite(after.log_mass).all()
        assert after.honest[0] < 0.5 < after.honest[1]


def test_flagged_sources_that_hold_one_text_are_not_believed_for_long() -> None:
    """Four of ten share a text and are flagged in every round; false conflicts among the others speak for them."""
    m, rng = 10, np.random.default_rng(0)
    names = tuple(f"s{i}" for i in range(m))
    source_filter = SourceFilter()
    beliefs = source_filter.start(names)
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
        evidence = RoundEvidence(holders, dispute, weight, levels, np.ones(m, bool), 1.0)
        beliefs = source_filter.update(beliefs, evidence)
        honest = beliefs.honest
        beliefs = source_filter.predict(beliefs, evidence)
    assert honest[:4].max() < 0.1
    assert honest[4:].min() > 0.9


def test_liars_who_repeat_one_claim_do_not_outvote_sources_who_each_hold_something_else() -> None:
    """Four liars with five texts each that all agree, just above the content threshold; the other six hold
    unrelated documents, of which some look like conflicts. By number of agreements alone the liars would win.
    """
    m, rng = 10, np.random.default_rng(0)
    source_filter = SourceFilter()
    beliefs = source_filter.start(tuple(f"s{i}" for i in range(m)))
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
        evidence = RoundEvidence(holders, dispute, weight, levels, np.ones(m, bool), 0.8)
        beliefs = source_filter.update(beliefs, evidence)
        honest = beliefs.honest
        beliefs = source_filter.predict(beliefs, evidence)
    assert honest[:4].max() < 0.1
    assert honest[4:].min() > 0.9


def test_sources_that_nothing_is_held_against_are_cleared_of_an_early_slip() -> None:
    """One false conflict in the first round, then rounds without any relation in which all texts look sound."""
    m = 10
    source_filter = SourceFilter()
    beliefs = source_filter.start(tuple(f"s{i}" for i in range(m)))
    honest = []
    for round_ in range(30):
        weight, dispute = np.zeros((m, m), np.float32), np.zeros((m, m), np.float32)
        if not round_:
            weight[0, 1] = weight[1, 0] = 1.2
            dispute[0, 1] = dispute[1, 0] = 1.0
        evidence = RoundEvidence(
            np.eye(m, dtype=bool), dispute, weight, np.full(m, CLEAR, np.int8), np.ones(m, bool), 0.8
        )
        beliefs = source_filter.update(beliefs, evidence)
        honest.append(beliefs.honest)
        beliefs = source_filter.predict(beliefs, evidence)
    assert honest[0][:2].max() < honest[0][2:].min()
    assert honest[-1].min() > 0.95
