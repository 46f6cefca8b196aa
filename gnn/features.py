"""The 12 static node features of the paper (appendix A) and its composite similarity (Eq. 7-8, 17)."""

from __future__ import annotations

import re
from collections import Counter
from functools import lru_cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from core.text import content_words, ngrams, stop_words, words

FEATURES = (
    "length", "keyword_score", "keyword_count", "category_share", "positive", "neutral", "negative",
    "compound", "degree", "degree_rank", "cohesion", "relevance",
)  # fmt: skip
_LETTERS = re.compile(r"[^\W\d_]")
COHESION_BETA = 0.5
COHESION_TOP = 3
RELEVANCE_BETA = 0.5


def log_ratio(x: NDArray[np.floating]) -> NDArray[np.float64]:
    """Eq. 17, ln(1 + x / median), for x >= 0; a zero median counts as 1, so that nothing divides by it."""
    median = float(np.median(x)) if len(x) else 1.0
    return np.log1p(x / (median if median > 0 else 1.0))


def composite_similarity(
    vectors: NDArray[np.float32], category_vectors: NDArray[np.float32], alpha: float
) -> NDArray[np.float32]:
    """(n, n) alpha * cosine of contents + (1-alpha) * cosine of categories, zero diagonal (Eq. 8)."""
    similarity = alpha * (vectors @ vectors.T) + (1 - alpha) * (category_vectors @ category_vectors.T)
    np.fill_diagonal(similarity, 0.0)
    return similarity.astype(np.float32)


def edges_above(similarity: NDArray[np.float32], quantile: float) -> NDArray[np.bool_]:
    """(n, n) adjacency: pairs above the round's `quantile` of similarity (Eq. 7).

    An absolute threshold does not carry over between encoders, hence a quantile: our choice.
    """
    n = len(similarity)
    if n < 2:
        return np.zeros((n, n), dtype=bool)
    tau = np.quantile(similarity[np.triu_indices(n, 1)], quantile)
    adjacency = similarity > tau
    np.fill_diagonal(adjacency, False)
    return adjacency


def keywords(text: str) -> list[str]:
    """1-3-grams without stop words, 2-35 characters, at least 6 letters in all."""
    stops = stop_words()
    tokens = [token for token in words(text) if token not in stops]
    phrases = (" ".join(gram) for n in (1, 2, 3) for gram in ngrams(tokens, n))
    return [p for p in phrases if 2 <= len(p) <= 35 and len(_LETTERS.findall(p)) >= 6]


def node_features(
    question: str,
    texts: list[str],
    vectors: NDArray[np.float32],
    question_vector: NDArray[np.float32],
    category_of: NDArray[np.int64],
    adjacency: NDArray[np.bool_],
) -> NDArray[np.float32]:
    """(n, 12) float32, finite, columns as in `FEATURES`.

    The fusion of feature 12 and the weights of feature 11 are not published; both mix half and half.
    """
    n = len(texts)
    if n == 0:
        return np.zeros((0, len(FEATURES)), dtype=np.float32)
    phrases = [Counter(keywords(text)) for text in texts]
    document_frequency = Counter(phrase for own in phrases for phrase in own)
    scores = np.array(
        [
            sum(c * np.log((1 + n) / (1 + document_frequency[p])) for p, c in own.items())
            / max(1, sum(own.values()))
            for own in phrases
        ]
    )
    mood = np.array([_sentiment(text) for text in texts])
    shares = np.bincount(category_of, minlength=int(category_of.max()) + 1)[category_of] / n
    degree = adjacency.sum(axis=1).astype(np.float64)
    rank = np.argsort(np.argsort(-degree, kind="stable"), kind="stable") + 1.0
    similarity = vectors @ vectors.T
    np.fill_diagonal(similarity, 0.0)
    overall = np.clip(similarity.sum(axis=1) / max(1, n - 1), 0, 1)
    nearest = np.clip(np.sort(similarity, axis=1)[:, ::-1][:, :COHESION_TOP].mean(axis=1), 0, 1)
    cohesion = COHESION_BETA * np.log1p(overall) + (1 - COHESION_BETA) * np.log1p(nearest)
    asked = set(content_words(question))
    overlap = np.array(
        [sum(1 for w in own if w in asked) / max(1, len(own)) for own in map(content_words, texts)]
    )
    relevance = RELEVANCE_BETA * overlap + (1 - RELEVANCE_BETA) * (vectors @ question_vector)
    lengths = np.array([len(text) for text in texts], dtype=np.float64)
    counts = np.array([sum(own.values()) for own in phrases], dtype=np.float64)
    columns = [
        log_ratio(lengths), log_ratio(np.maximum(scores, 0).astype(np.float64)), log_ratio(counts), shares,
        *mood.T, degree / n, log_ratio(rank), cohesion, relevance,
    ]  # fmt: skip
    return np.column_stack(columns).astype(np.float32)


@lru_cache(maxsize=1)
def _analyser() -> Any:
    from vaderSentiment.vaderSentiment import SentimentIntensityAnalyzer

    return SentimentIntensityAnalyzer()


@lru_cache(maxsize=100_000)
def _sentiment(text: str) -> tuple[float, float, float, float]:
    """VADER positive, neutral, negative and compound, raw: a compound may be negative, so no log."""
    found = _analyser().polarity_scores(text[:4000])
    return found["pos"], found["neu"], found["neg"], found["compound"]
