from __future__ import annotations

from dataclasses import replace
from math import comb

import numpy as np
import pytest

from gnn.inference.evidence import RoundEvidence
from gnn.inference.large import LargeSourceFilter
from gnn.inference.source_filter import FilterConfig, SourceBeliefs, SourceFilter
from tests.gnn.parts import random_evidence


def run(source_filter: SourceFilter, m: int, rounds: list[RoundEvidence]) -> list[SourceBeliefs]:
    prior = source_filter.start(tuple(f"s{j:02d}" for j in range(m)))
    found = []
    for evidence in rounds:
        posterior = source_filter.update(prior, evidence)
        found.append(posterior)
        prior = source_filter.predict(posterior, evidence)
    return found


@pytest.mark.parametrize("m", [3, 5, 8, 10, 12])
@pytest.mark.parametrize("seed", [0, 1, 2])
def test_close_to_the_exact_filter_up_to_twelve_sources(m: int, seed: int) -> None:
    rng = np.random.default_rng([m, seed])
    liars = rng.permutation(m)[: int(rng.integers(0, (m - 1) // 2 + 1))].tolist()
    rounds = [random_evidence(rng, m, liars) for _ in range(4)]
    exact = run(SourceFilter(), m, rounds)
    large = run(LargeSourceFilter(), m, rounds)
    gaps = np.array([np.abs(a.honest - b.honest) for a, b in zip(exact, large, strict=True)])
    assert gaps[0].max() < 0.15  # little evidence leaves many labelings, of which the search sees a part
    assert gaps[-1].max() < 0.02
    assert gaps.mean() < 0.02


def test_weak_evidence_adds_up_over_rounds_as_in_the_exact_filter() -> None:
    """A group of liars is weakly suspect in every single round: only carried together does it add up."""
    m, liars = 11, [0, 1, 2, 3]
    rng = np.random.default_rng(5)
    rounds = []
    for _ in range(14):
        one = random_evidence(rng, m, liars)
        rounds.append(
            replace(one, weight=one.weight * 0.5, levels=np.zeros(m, np.int8), present=np.ones(m, bool))
        )
    exact, large = run(SourceFilter(), m, rounds), run(LargeSourceFilter(), m, rounds)
    assert exact[0].honest[:4].min() > 0.5
    assert exact[-1].honest[:4].max() < 0.2
    assert large[-1].honest == pytest.approx(exact[-1].honest, abs=0.1)


def test_fifty_sources_of_which_twenty_lie() -> None:
    m, liars = 50, list(range(20))
    rng = np.random.default_rng(7)
    last = run(LargeSourceFilter(), m, [random_evidence(rng, m, liars, n=100) for _ in range(3)])[-1]
    assert (last.honest[:20] < 0.1).all()
    assert (last.honest[20:] > 0.9).all()
    assert last.labelings.sum(axis=1).max() <= LargeSourceFilter.breakdown(m)
    assert float(last.mass.sum()) == pytest.approx(1.0)
    assert last.expected(FilterConfig()).colluding > 0.5


def test_equal_input_gives_equal_output() -> None:
    rounds = [random_evidence(np.random.default_rng(3), 20, [1, 2, 3]) for _ in range(2)]
    first, again = run(LargeSourceFilter(), 20, rounds), run(LargeSourceFilter(), 20, rounds)
    assert all(np.array_equal(a.log_mass, b.log_mass) for a, b in zip(first, again, strict=True))


def test_the_prior_counts_liars_as_the_exact_filter_does() -> None:
    names = tuple("abcdefg")
    exact = SourceFilter().start(names)
    large = LargeSourceFilter().labeling_prior(exact.labelings)
    assert np.exp(large) == pytest.approx(exact.mass.sum(axis=1))
    liars = exact.labelings.sum(axis=1)
    shares = [float(exact.mass.sum(axis=1)[liars == k].sum()) for k in range(4)]
    alone = [comb(7, k) * 0.25**k * 0.75 ** (7 - k) for k in range(4)]
    assert shares == pytest.approx([p / sum(alone) / 2 + 1 / 8 for p in alone])
    start = LargeSourceFilter().start(tuple(f"s{j}" for j in range(30)))
    assert len(set(start.honest.round(9))) == 1
    assert 0.5 < start.honest[0] < 1.0
