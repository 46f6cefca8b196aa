from __future__ import annotations

from dataclasses import replace

import numpy as np
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

from gnn.credibility import tampering_evidence, verification_credibility
from gnn.inference.evidence import RoundEvidence, round_evidence
from gnn.inference.source_filter import FilterConfig, SourceBeliefs, SourceFilter
from gnn.relations.documents import DocumentRelations
from tests.gnn.parts import random_evidence, relations_of

CONFIG = FilterConfig()


def beliefs(honest: list[float]) -> SourceBeliefs:
    """Beliefs whose marginals have the order of `honest`, made of independent odds."""
    names = tuple(f"s{j}" for j in range(len(honest)))
    start = SourceFilter().start(names)
    odds = np.log((1 - np.array(honest)) / np.array(honest))
    log_mass = (start.labelings @ odds)[:, None] + SourceFilter().way_prior()
    return replace(start, log_mass=log_mass)


def scene(
    agree: float, conflict: float, honest: list[float]
) -> tuple[DocumentRelations, RoundEvidence, SourceBeliefs]:
    """Document 0 of source 0 beside documents 1 and 2 of sources 1 and 2."""
    related = relations_of(
        3, [(0, 1, agree), (0, 2, agree), (1, 2, 0.9)], [(0, 1, conflict), (0, 2, conflict)]
    )
    holders = np.eye(3, dtype=bool)
    evidence = round_evidence(related, holders, np.zeros(3, np.int8), np.ones(3, np.float32))
    # the scale depends on how many pairs count as linked: fixed here, so that one thing changes at a time
    return related, replace(evidence, scale=1.0), beliefs(honest)


def credibility(agree: float, conflict: float, honest: list[float]) -> float:
    related, evidence, believed = scene(agree, conflict, honest)
    return float(judged(related, evidence, believed)[0])


def judged(
    related: DocumentRelations, evidence: RoundEvidence, believed: SourceBeliefs
) -> NDArray[np.float64]:
    way = believed.expected(CONFIG)
    any_honest = believed.any_honest(evidence.holders)
    tampering = tampering_evidence(related, evidence.scale, any_honest, way.noise)
    return verification_credibility(any_honest, tampering, way)


share = st.floats(0.0, 1.0)


@given(agree=share, low=share, high=share)
def test_more_conflict_with_trusted_documents_never_helps(agree: float, low: float, high: float) -> None:
    low, high = sorted((low, high))
    honest = [0.5, 0.95, 0.95]
    # agreement is what the conflict leaves of it
    assert credibility(agree * (1 - high), high, honest) <= credibility(agree * (1 - low), low, honest) + 1e-6


@given(low=share, high=share)
def test_more_agreement_never_hurts(low: float, high: float) -> None:
    low, high = sorted((low, high))
    assert credibility(high, 0.0, [0.5, 0.95, 0.95]) >= credibility(low, 0.0, [0.5, 0.95, 0.95]) - 1e-6


@given(st.floats(0.05, 0.9), st.floats(0.0, 0.09))
def test_a_more_reliable_holder_never_hurts(honest: float, more: float) -> None:
    others = [0.9, 0.9]
    assert credibility(0.0, 0.9, [honest + more, *others]) >= credibility(0.0, 0.9, [honest, *others]) - 1e-9


def test_what_distrusted_documents_say_counts_nothing() -> None:
    related = relations_of(3, conflict=[(0, 1, 0.9)])
    holders = np.eye(3, dtype=bool)
    evidence = round_evidence(related, holders, np.zeros(3, np.int8), np.ones(3, np.float32))
    assert tampering_evidence(related, evidence.scale, np.array([0.9, 0.95, 0.9]), 0.1)[0] > 0
    assert tampering_evidence(related, evidence.scale, np.array([0.9, 0.05, 0.9]), 0.1)[0] == 0.0


def test_corroboration_is_bounded_because_copies_are_cheap() -> None:
    n = 30
    related = relations_of(n, [(0, j, 1.0) for j in range(1, n)])
    holders = np.zeros((n, 3), bool)
    holders[np.arange(n), np.arange(n) % 3] = True
    evidence = round_evidence(related, holders, np.zeros(3, np.int8), np.ones(n, np.float32))
    found = tampering_evidence(related, evidence.scale, np.full(n, 0.9), 0.1)
    assert (found >= -1.0 - 1e-9).all()


@given(m=st.integers(2, 6), seed=st.integers(0, 10**6))
def test_always_a_probability(m: int, seed: int) -> None:
    rng = np.random.default_rng(seed)
    evidence = random_evidence(rng, m, [0], n=2 * m)
    n = 2 * m
    related = relations_of(
        n, [(i, j, float(rng.random())) for i in range(n) for j in range(i)],
        [(i, j, float(rng.random())) for i in range(n) for j in range(i)],
    )  # fmt: skip
    posterior = SourceFilter().update(SourceFilter().start(tuple(map(str, range(m)))), evidence)
    found = judged(related, evidence, posterior)
    assert np.isfinite(found).all()
    assert ((found > 0) & (found < 1)).all()


@given(n=st.integers(1, 7), seed=st.integers(0, 10**6), noise=st.floats(0.0, 0.6))
def test_tampering_evidence_equals_the_formula_in_plain_loops(n: int, seed: int, noise: float) -> None:
    rng = np.random.default_rng(seed)
    pairs = [(i, j) for i in range(n) for j in range(i)]
    related = relations_of(
        n, [(i, j, float(rng.random())) for i, j in pairs], [(i, j, float(rng.random())) for i, j in pairs]
    )
    holders = np.zeros((n, 3), bool)
    holders[np.arange(n), rng.integers(0, 3, n)] = True
    evidence = round_evidence(related, holders, np.zeros(3, np.int8), np.ones(n, np.float32))
    believed = beliefs([0.9, 0.6, 0.8])
    honest = believed.any_honest(holders)
    sound = max(0.05, noise)
    altered = 1 - (1 - sound) * 0.2
    wanted = []
    dispute, strength = related.matrix(related.dispute), related.matrix(related.strength)
    for i in range(n):
        total = 0.0
        for j in range(n):
            x, s = float(dispute[i, j]), float(strength[i, j])
            ratio = np.log((altered * x + (1 - altered) * (1 - x)) / (sound * x + (1 - sound) * (1 - x)))
            total += evidence.scale * s * max(0.0, 2 * honest[j] - 1) * ratio
        wanted.append(max(-1.0, total))
    assert np.allclose(tampering_evidence(related, evidence.scale, honest, noise), wanted, atol=1e-5)
