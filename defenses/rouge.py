"""ROUGE-L between many short texts, fast: the longest common subsequence in bit operations."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

_NOT_WORD = re.compile(r"[^a-z0-9]+")


def rouge_tokens(text: str) -> list[str]:
    """Tokens as the package rouge-score cuts them: lower case, ASCII letters and digits, Porter stems."""
    return [_stem(token) for token in _NOT_WORD.sub(" ", text.lower()).split()]


def lcs_length(left: Sequence[str], right: Sequence[str]) -> int:
    """Length of the longest common subsequence, in len(right) operations on len(left)-bit integers."""
    places: dict[str, int] = {}
    for i, token in enumerate(left):
        places[token] = places.get(token, 0) | 1 << i
    full = (1 << len(left)) - 1
    row = full
    for token in right:
        match = row & places.get(token, 0)
        row = ((row + match) | (row - match)) & full
    return len(left) - row.bit_count()


def rouge_l(left: Sequence[str], right: Sequence[str]) -> float:
    """F-measure of ROUGE-L between token lists; 0 where one is empty."""
    if not left or not right:
        return 0.0
    return 2.0 * lcs_length(left, right) / (len(left) + len(right))


def alike(texts: Sequence[str], threshold: float) -> NDArray[np.bool_]:
    """Which pairs of texts have ROUGE-L above `threshold`; (n, n), symmetric, diagonal false.

    A pair whose common words alone cannot reach it is skipped.
    """
    tokens = [rouge_tokens(text) for text in texts]
    counts = [Counter(found) for found in tokens]
    found = np.zeros((len(texts), len(texts)), dtype=bool)
    for i in range(len(texts)):
        for j in range(i + 1, len(texts)):
            total = len(tokens[i]) + len(tokens[j])
            if not total or 2 * (counts[i] & counts[j]).total() <= threshold * total:
                continue
            found[i, j] = found[j, i] = rouge_l(tokens[i], tokens[j]) > threshold
    return found


@lru_cache(maxsize=100_000)
def _stem(token: str) -> str:
    return _stemmer().stem(token) if len(token) > 3 else token


@lru_cache(maxsize=1)
def _stemmer():  # type: ignore[no-untyped-def]  # noqa: ANN202  # nltk carries no types
    from nltk.stem.porter import PorterStemmer

    return PorterStemmer()
