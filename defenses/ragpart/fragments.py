"""Cutting documents into fragments and fragments into combinations (RAGPart paper, section 3.1)."""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from itertools import combinations, pairwise
from math import comb

import numpy as np
from numpy.typing import NDArray

from core.embedding.base import Embedder, Vectors
from core.errors import ConfigError
from defenses.ragpart.theory import check_counts

MAX_COMBINATIONS = 200_000  # C(20,10) = 184,756, the largest of the paper's tables


def fragments(text: str, n: int) -> list[str]:
    """`text` as `n` contiguous runs of blank-separated words, lengths within one word of each other.

    The paper leaves the boundaries open. A text of fewer than `n` words repeats words so that every
    fragment has one; an empty text has `n` empty fragments.
    """
    words = text.split()
    count = len(words)
    if not count:
        return [""] * n
    cuts = [i * count // n for i in range(n + 1)]
    return [" ".join(words[start : max(stop, start + 1)]) for start, stop in pairwise(cuts)]


def embed_fragments(texts: Sequence[str], n: int, embedder: Embedder) -> Vectors:
    """(len(texts), n, d) float32 fragment vectors; an empty text has zero vectors, similar to nothing."""
    pieces = [piece for text in texts for piece in fragments(text, n)]
    vectors = np.array(embedder.embed(pieces), dtype=np.float32).reshape(len(texts), n, embedder.dimension)
    vectors[[i for i, text in enumerate(texts) if not text.strip()]] = 0.0
    return vectors


@lru_cache(maxsize=32)
def membership(n: int, k: int) -> NDArray[np.float32]:
    """(n, C(n,k)) 0/1 matrix: column c marks the fragments of combination c, in lexicographic order.

    Raises:
        ConfigError: not 1 ≤ k ≤ n, or more than `MAX_COMBINATIONS` combinations.
    """
    check_counts(n, k)
    if comb(n, k) > MAX_COMBINATIONS:
        raise ConfigError(
            f"{n} fragments taken {k} at a time make {comb(n, k)} combinations; at most {MAX_COMBINATIONS}"
        )
    chosen = np.array(list(combinations(range(n), k)))
    matrix = np.zeros((n, len(chosen)), dtype=np.float32)
    matrix[chosen.T, np.arange(len(chosen))] = 1.0
    matrix.flags.writeable = False
    return matrix
