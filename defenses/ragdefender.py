"""In the style of RAGDefender (arXiv 2511.01268): guess how many were planted, drop the most alike."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray
from pydantic import Field

from core.config import StrictModel, parse
from core.stage import Hook, Resources, StageInput, StageResult, abstain, keep_where
from core.text import content_words
from defenses.vectors import document_vectors

_FEW = 2


class RagDefenderConfig(StrictModel):
    """How many documents are taken for planted.

    `grouping`: `clusters` (two hierarchical clusters; the larger one where more than half of the documents
    hold most of the `top_terms` heaviest TF-IDF terms, else the smaller: for single-hop questions) or
    `concentration` (documents nearer to the others than the average is, by mean and by median: for
    multi-hop questions).
    """

    grouping: Literal["clusters", "concentration"] = "clusters"
    top_terms: int = Field(default=5, ge=1)


class RagDefenderStage:
    """Drops the documents that stand most often and closest in the most similar pairs. Stateless.

    Written after the paper's description, from which it may differ in details: hence "style". Like the
    original it always suspects someone: on clean rounds it costs benign documents. Credibility falls
    with the document's share of the similarity among the suspicious pairs.
    """

    name = "ragdefender"
    hook = Hook.POST_RETRIEVAL

    def __init__(self, config: Mapping[str, Any] | RagDefenderConfig | None, resources: Resources) -> None:
        if not isinstance(config, RagDefenderConfig):
            config = parse(RagDefenderConfig, config or {}, self.name)
        self.config = config
        self._embedder = resources.embedder

    def run(self, given: StageInput) -> StageResult:
        vectors = document_vectors(given, self._embedder)
        if vectors is None:
            return abstain(given, "no_vectors")
        n = len(given.documents)
        if n <= _FEW:
            return keep_where(given, [True] * n, "")
        similar = np.clip(np.asarray(vectors @ vectors.T, dtype=np.float64), -1.0, 1.0)
        if self.config.grouping == "clusters":
            texts = [document.text for document in given.documents]
            planted = clustered_count(similar, texts, self.config.top_terms)
        else:
            planted = concentrated_count(similar)
        scores = pair_frequency(similar, planted)
        order = np.lexsort((np.arange(n), -scores))
        gone = set(order[:planted].tolist())
        largest = float(scores.max()) or 1.0
        result = keep_where(
            given,
            [i not in gone for i in range(n)],
            "in_similar_pairs",
            credibility=[1.0 - float(score) / largest for score in scores],
            evidence=[{"pair_frequency": float(score)} for score in scores],
        )
        return StageResult(result.documents, result.verdicts, {"planted": float(planted)})


def clustered_count(similar: NDArray[np.float64], texts: Sequence[str], top_terms: int) -> int:
    """Size of the suspicious one of two average-linkage clusters of a similarity matrix (n, n), n ≥ 2."""
    from scipy.cluster.hierarchy import cut_tree, linkage
    from scipy.spatial.distance import squareform

    distances = np.maximum(1.0 - similar, 0.0)
    np.fill_diagonal(distances, 0.0)
    sizes = np.bincount(
        cut_tree(linkage(squareform(distances, checks=False), "average"), n_clusters=2).ravel()
    )
    n = len(texts)
    crowded = 2 * _holders_of_top_terms(texts, top_terms) > n
    size = int(sizes.max() if crowded else sizes.min())
    return min(size, n - 1)  # someone must be left to answer from


def concentrated_count(similar: NDArray[np.float64]) -> int:
    """How many documents are nearer to the others than all pairs are, by mean and by median."""
    n = len(similar)
    others = similar[~np.eye(n, dtype=bool)].reshape(n, n - 1)
    mean, median = others.mean(1), np.median(others, axis=1)
    return int(((mean > others.mean()) & (median > np.median(others))).sum())


def pair_frequency(similar: NDArray[np.float64], planted: int) -> NDArray[np.float64]:
    """Similarity that each document gathers from the planted·(planted-1)/2 most similar pairs; (n,).

    With one planted document no pair is among its own kind: the score is the similarity to the nearest
    other, negated, since a single planted text is the odd one out.
    """
    n = len(similar)
    if planted <= 1:
        return -np.where(np.eye(n, dtype=bool), -np.inf, similar).max(1) + 1.0
    rows, columns = np.triu_indices(n, 1)
    values = similar[rows, columns]
    chosen = np.lexsort((np.arange(len(values)), -values))[: planted * (planted - 1) // 2]
    scores = np.zeros(n)
    np.add.at(scores, rows[chosen], np.maximum(values[chosen], 0.0))
    np.add.at(scores, columns[chosen], np.maximum(values[chosen], 0.0))
    return scores


def _holders_of_top_terms(texts: Sequence[str], top_terms: int) -> int:
    """How many texts hold more than half of the terms with the largest TF-IDF sums."""
    counts = [Counter(content_words(text)) for text in texts]
    frequency = Counter(word for found in counts for word in found)
    n = len(texts)
    weights = {
        word: sum(found[word] for found in counts) * (np.log((1 + n) / (1 + df)) + 1.0)
        for word, df in frequency.items()
    }
    top = sorted(weights, key=lambda word: (-weights[word], word))[:top_terms]
    return sum(2 * sum(word in found for word in top) > len(top) for found in counts) if top else 0
