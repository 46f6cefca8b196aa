"""Two defenses on the same questions: the difference, and how likely chance alone makes one as large."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from core.seeding import generator

DRAWS = 10_000
_EXACT = 13  # questions that differ up to which all signs are tried

Outcomes = Sequence[Mapping[str, Any]]


@dataclass(frozen=True)
class Paired:
    """`difference`: first minus second, mean over questions. `p`: two-sided. `n`: questions compared."""

    difference: float
    p: float
    n: int


def compare_paired(first: Outcomes, second: Outcomes, name: str, seed: int = 0) -> Paired | None:
    """Compare `name` (a yes or no of each round) between two cells, question by question.

    A question's value is its mean over trials and seeds, so rounds of one question are not taken as
    independent. Sign-flip permutation test: exact where few questions differ, else `DRAWS` draws. None
    where no question has a value in both.
    """
    left, right = _by_question(first, name), _by_question(second, name)
    shared = [query for query in left if query in right]
    if not shared:
        return None
    differences = np.array([left[query] - right[query] for query in shared])
    return Paired(float(differences.mean()), sign_flip(differences, seed), len(shared))


def sign_flip(differences: np.ndarray, seed: int = 0) -> float:
    """P value of the mean of `differences` (n,) under random signs; 1 where none differs."""
    moved = differences[differences != 0]
    if not len(moved):
        return 1.0
    observed = abs(float(moved.sum())) - 1e-9
    if len(moved) <= _EXACT:
        codes = np.arange(2 ** len(moved))[:, None] >> np.arange(len(moved)) & 1
        return float((np.abs((1 - 2 * codes) @ moved) >= observed).mean())
    signs = generator(seed, "sign flip", len(moved)).integers(0, 2, size=(DRAWS, len(moved))) * 2 - 1
    return float((1 + (np.abs(signs @ moved) >= observed).sum()) / (1 + DRAWS))


def _by_question(rounds: Outcomes, name: str) -> dict[str, float]:
    values: dict[str, list[float]] = {}
    for record in rounds:
        if record[name] is not None:
            values.setdefault(record["query_id"], []).append(float(record[name]))
    return {query: float(np.mean(found)) for query, found in values.items()}


def holm(ps: Sequence[float], level: float) -> list[bool]:
    """Which of several tests reject at `level` for all of them together (Holm's step-down procedure)."""
    rejected = [False] * len(ps)
    for rank, i in enumerate(sorted(range(len(ps)), key=lambda i: ps[i])):
        if ps[i] >= level / (len(ps) - rank):
            break
        rejected[i] = True
    return rejected
