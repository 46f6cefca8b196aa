from __future__ import annotations

from itertools import combinations
from math import comb

import pytest
from hypothesis import given
from hypothesis import strategies as st

from core.errors import ConfigError
from defenses.ragpart import theory


@given(st.integers(1, 8), st.data())
def test_poisoned_combinations_are_those_that_counting_finds(n: int, data: st.DataObject) -> None:
    k = data.draw(st.integers(1, n))
    poisoned = set(range(data.draw(st.integers(0, n))))
    touched = [len(poisoned & set(chosen)) for chosen in combinations(range(n), k)]
    assert theory.poisoned_combinations(n, k, len(poisoned), naive=True) == sum(t >= 1 for t in touched)
    assert theory.poisoned_combinations(n, k, len(poisoned)) == sum(t >= 2 for t in touched)


@given(st.integers(1, 12), st.integers(1, 12), st.integers(0, 12), st.integers(1, 6))
def test_more_adversaries_or_mixing_first_never_help(n: int, k: int, poisoned: int, adversaries: int) -> None:
    k, poisoned = min(k, n), min(poisoned, n)
    if theory.is_robust(n, k, poisoned, adversaries + 1):
        assert theory.is_robust(n, k, poisoned, adversaries)
    if theory.is_robust(n, k, poisoned, adversaries, naive=True):
        assert theory.is_robust(n, k, poisoned, adversaries)


def test_condition_is_strict() -> None:
    # C(4,2) = 6, both poisoned fragments in one combination of six: robust up to five adversaries.
    assert [theory.is_robust(4, 2, 2, a) for a in (1, 4, 5)] == [True, True, False]


def test_flops_of_the_papers_example() -> None:
    example = {"n_documents": 10**6, "n_fragments": 5, "k": 3, "per_fragment": 10**9, "dimension": 512}
    naive, literal, exact = (
        f(**example) for f in (theory.flops_naive, theory.flops_literal, theory.flops_exact)
    )
    assert naive.embed == 30 * 10**15
    assert literal.embed == exact.embed == 5 * 10**15
    assert naive.embed == 6 * literal.embed
    assert literal.query == naive.query == 2 * 512 * 10**6 * comb(5, 3)
    assert exact.average == 0
    assert exact.query < 0.52 * literal.query


def test_mask_costs_a_pass_for_every_started_segment() -> None:
    assert theory.flops_mask(10, 101, 10, 7) == 10 * 11 * 7


@pytest.mark.parametrize(
    "call",
    [
        lambda: theory.is_robust(5, 6, 1),
        lambda: theory.is_robust(5, 0, 1),
        lambda: theory.is_robust(5, 3, 6),
        lambda: theory.is_robust(5, 3, -1),
        lambda: theory.is_robust(5, 3, 1, 0),
        lambda: theory.flops_exact(1, 2, 3, 1, 1),
        lambda: theory.flops_mask(1, 1, 0, 1),
    ],
)
def test_counts_out_of_range_are_named(call) -> None:
    with pytest.raises(ConfigError, match=r"must|at least"):
        call()
