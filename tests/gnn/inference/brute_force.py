"""The source filter's model as an enumeration in plain loops, to hold the exact filter against."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest

from gnn.inference.evidence import MOST_BETWEEN, RoundEvidence
from gnn.inference.source_filter import FilterConfig, SourceBeliefs
from tests.gnn.parts import matrices

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
    disputed, weighed = matrices(evidence)
    total = 0.0
    for a in range(m):
        for b in range(a + 1, m):
            r = min(rate_of(a, b), 0.97)
            told, weight = 0.0, 0.0
            for i in range(n):
                for k in range(n):
                    if evidence.holders[i, a] and evidence.holders[k, b]:
                        x, w = disputed[i, k], weighed[i, k]
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
    _, weighed = matrices(evidence)
    pace = []
    for j in range(m):
        strength = sum(
            weighed[i, k]
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
