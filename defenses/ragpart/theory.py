"""When the vote over fragment combinations is robust, and what it costs (RAGPart paper, section 6).

A document has N fragments, an adversarial one n_p poisoned fragments among them; C(N,k) combinations
vote. With n_a adversarial documents the vote is robust if the combinations that favour one of them
number fewer than C(N,k) / (n_a + 1); for n_a = 1 that is half of them. This is sufficient, not
necessary, and assumes that without an attack all lists agree up to permutation.

Two things that the formulas do not say. RAGPart's count leaves out combinations with exactly one
poisoned fragment, as diluted by k - 1 clean ones: at k = 1 nothing dilutes, the count is 0 and the
condition empty, although the paper itself measures successes there. And a condition on counts knows
nothing of how close the clean documents lie: a single strong fragment can win a list of a sparse
corpus.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import comb

from core.errors import ConfigError


def poisoned_combinations(n_fragments: int, k: int, n_poisoned: int, *, naive: bool = False) -> int:
    """Combinations of one adversarial document that count as won by its poison.

    `naive` (text mixed before embedding): every combination with a poisoned fragment. RAGPart
    (embeddings averaged): every combination with two or more.

    Raises:
        ConfigError: not 1 ≤ k ≤ N or not 0 ≤ n_poisoned ≤ N.
    """
    check_counts(n_fragments, k)
    if not 0 <= n_poisoned <= n_fragments:
        raise ConfigError(f"poisoned fragments must lie in 0..{n_fragments}, not {n_poisoned}")
    clean = n_fragments - n_poisoned
    touched = comb(n_fragments, k) - comb(clean, k)
    return touched if naive else touched - n_poisoned * comb(clean, k - 1)


def is_robust(
    n_fragments: int, k: int, n_poisoned: int, n_adversarial: int = 1, *, naive: bool = False
) -> bool:
    """Whether the sufficient condition for robustness of the majority vote holds.

    `n_adversarial` ≥ 1 documents carry `n_poisoned` poisoned fragments each.

    Raises:
        ConfigError: a count is out of range.
    """
    if n_adversarial < 1:
        raise ConfigError(f"adversarial documents must be at least 1, not {n_adversarial}")
    won = poisoned_combinations(n_fragments, k, n_poisoned, naive=naive)
    return won * (n_adversarial + 1) < comb(n_fragments, k)


@dataclass(frozen=True, slots=True)
class Flops:
    """Floating-point operations: once for the corpus (`embed`, `average`) and for each query (`query`)."""

    embed: int
    average: int
    query: int


def flops_naive(n_documents: int, n_fragments: int, k: int, per_fragment: int, dimension: int) -> Flops:
    """Text mixed first: C(N,k) forward passes of k fragments each, C(N,k) databases per query.

    `per_fragment` is what embedding one fragment costs.
    """
    combinations = _combinations(n_fragments, k)
    return Flops(n_documents * combinations * k * per_fragment, 0, 2 * dimension * n_documents * combinations)


def flops_literal(n_documents: int, n_fragments: int, k: int, per_fragment: int, dimension: int) -> Flops:
    """RAGPart as published: N forward passes, C(N,k) averages of k vectors, C(N,k) databases per query."""
    combinations = _combinations(n_fragments, k)
    return Flops(
        n_documents * n_fragments * per_fragment,
        n_documents * combinations * k * dimension,
        2 * dimension * n_documents * combinations,
    )


def flops_exact(n_documents: int, n_fragments: int, k: int, per_fragment: int, dimension: int) -> Flops:
    """RAGPart as built here: nothing averaged, N matrix-vector products per query.

    `query` is the upper bound in which pruning spares no document: 2 N products a document and
    dimension, and 2 N for each of the C(N,k) sums.
    """
    combinations = _combinations(n_fragments, k)
    query = 2 * n_fragments * n_documents * (dimension + combinations)
    return Flops(n_documents * n_fragments * per_fragment, 0, query)


def flops_mask(n_candidates: int, length: int, segment: int, per_document: int) -> int:
    """RAGMask: one forward pass for every segment of every candidate (αp of them), per query."""
    if min(n_candidates, length, segment) < 1:
        raise ConfigError("candidates, length and segment must be at least 1")
    return n_candidates * -(-length // segment) * per_document


def check_counts(n_fragments: int, k: int) -> None:
    """Raise `ConfigError` unless 1 ≤ k ≤ N."""
    if not 1 <= k <= n_fragments:
        raise ConfigError(f"combine must lie in 1..fragments ({n_fragments}), not {k}")


def _combinations(n_fragments: int, k: int) -> int:
    check_counts(n_fragments, k)
    return comb(n_fragments, k)
