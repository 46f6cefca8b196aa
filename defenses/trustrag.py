"""TrustRAG, stage 1 (arXiv 2501.00879): two clusters, and what is too tight was planted.

Stage 2, which consolidates the model's own knowledge with what is left, is a reader:
`aggregator.readers.trustrag`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray
from pydantic import Field

from core.config import StrictModel, parse
from core.embedding.base import unit_rows
from core.seeding import generator
from core.stage import Hook, Resources, StageInput, StageResult, abstain, keep_where
from defenses.clustering import kmeans
from defenses.rouge import alike
from defenses.vectors import document_vectors, mean_pairwise_cosine

_FEW = 2  # documents below or at this number are not clustered: both clusters would be singletons


class TrustRagConfig(StrictModel):
    """Thresholds of the paper; they are made for SimCSE vectors.

    A cluster with a mean cosine above `threshold` is planted. Two texts with ROUGE-L above `rouge` are
    near-duplicates. `ngram_gate`: judge only where some pair is near-duplicate. `variant`: `trustrag`
    (a singleton is a case of its own, near-duplicates go in pairs) or `ado` (a singleton has cosine 0,
    the later of two near-duplicates goes), as in Adaptive Defense Orchestration, algorithm 1.
    """

    threshold: float = Field(default=0.88, ge=-1, le=1)
    rouge: float = Field(default=0.25, ge=0, le=1)
    ngram_gate: bool = False
    variant: Literal["trustrag", "ado"] = "trustrag"


class TrustRagStage:
    """Drops the tight cluster and near-duplicates. Stateless.

    Credibility is one minus the mean cosine of the document's cluster (a ranking of ours); the paper
    gives verdicts only. Survivors keep their rank.
    """

    name = "trustrag"
    hook = Hook.POST_RETRIEVAL

    def __init__(self, config: Mapping[str, Any] | TrustRagConfig | None, resources: Resources) -> None:
        if not isinstance(config, TrustRagConfig):
            config = parse(TrustRagConfig, config or {}, self.name)
        self.config = config
        self._embedder = resources.embedder

    def run(self, given: StageInput) -> StageResult:
        vectors = document_vectors(given, self._embedder)
        if vectors is None:
            return abstain(given, "no_vectors")
        texts = [document.text for document in given.documents]
        near = alike(texts, self.config.rouge)
        if len(texts) <= _FEW or (self.config.ngram_gate and not near.any()):
            return keep_where(given, [True] * len(texts), "")
        split = two_clusters(vectors, generator(given.seed, "trustrag"))
        judge = trustrag_kept if self.config.variant == "trustrag" else ado_kept
        kept = judge(split, vectors, near, self.config.threshold)
        own = [split.cosine[label] for label in split.labels]
        return keep_where(
            given,
            [i in kept for i in range(len(texts))],
            "tight_cluster_or_duplicate",
            credibility=[float(np.clip(1.0 - value, 0.0, 1.0)) for value in own],
            evidence=[
                {"cluster_cosine": float(value), "near_duplicates": float(near[i].sum())}
                for i, value in enumerate(own)
            ],
        )


@dataclass(frozen=True)
class Split:
    """Two clusters: labels (n,) in {0, 1}, and the mean cosine of pairs inside each, 0 for a singleton."""

    labels: NDArray[np.int_]
    cosine: tuple[float, float]

    def members(self, label: int) -> list[int]:
        """Rows of cluster `label`, ascending."""
        return [int(i) for i in np.flatnonzero(self.labels == label)]


def two_clusters(vectors: NDArray[np.float32], rng: np.random.Generator) -> Split:
    """k-means with two clusters on standardised unit rows; cosines are those of the raw rows."""
    centred = vectors - vectors.mean(0)
    spread = centred.std(0)
    labels = kmeans(unit_rows(centred / np.where(spread > 0, spread, 1.0)), 2, rng)
    return Split(
        labels, (mean_pairwise_cosine(vectors[labels == 0]), mean_pairwise_cosine(vectors[labels == 1]))
    )


def trustrag_kept(
    split: Split, vectors: NDArray[np.float32], near: NDArray[np.bool_], threshold: float
) -> set[int]:
    """Rows that stage 1 of TrustRAG keeps."""
    first, second = split.members(0), split.members(1)
    if not second:  # all texts equal
        return set() if split.cosine[0] > threshold else set(first)
    if len(first) == 1 or len(second) == 1:
        single, block, tight = (
            (first, second, split.cosine[1]) if len(first) == 1 else (second, first, split.cosine[0])
        )
        if tight <= threshold:
            return set(block)
        return set() if float(vectors[single[0]] @ vectors[block[0]]) > threshold else set(single)
    low, high = sorted((0, 1), key=lambda label: split.cosine[label])
    if split.cosine[low] > threshold:
        return set()
    kept = _without_pairs(split.members(low), near)
    if split.cosine[high] < threshold:
        kept |= _without_pairs(split.members(high), near)
    return kept


def ado_kept(
    split: Split, vectors: NDArray[np.float32], near: NDArray[np.bool_], threshold: float
) -> set[int]:
    """Rows that the form in Adaptive Defense Orchestration keeps."""
    tight = [label for label in (0, 1) if split.cosine[label] > threshold]
    if len(tight) == 2:
        return set()
    loose = [label for label in (0, 1) if label not in tight]
    return {row for label in loose for row in _without_later(split.members(label), near)}


def _without_pairs(rows: Sequence[int], near: NDArray[np.bool_]) -> set[int]:
    """`rows` without near-duplicates: of a pair both go, and so does what resembles the first found."""
    gone: set[int] = set()
    saved: int | None = None
    for place, i in enumerate(rows):
        if i in gone:
            continue
        twin = next((j for j in rows[place + 1 :] if near[i, j]), None)
        if twin is not None:
            gone |= {i, twin}
            saved = i if saved is None else saved
        if saved is not None and near[i, saved]:
            gone.add(i)
    return set(rows) - gone


def _without_later(rows: Sequence[int], near: NDArray[np.bool_]) -> set[int]:
    """`rows` without the later one of each near-duplicate pair."""
    kept: list[int] = []
    for i in rows:
        if not any(near[i, j] for j in kept):
            kept.append(i)
    return set(kept)
