"""TRIS as a document stage."""

from __future__ import annotations

import logging
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from core.config import parse
from core.embedding.base import Embedder
from core.llm import require_llm
from core.seeding import generator
from core.stage import Hook, Resources, StageInput, StageResult, keep_where
from core.verdict import Action
from defenses.tris.config import TrisConfig
from defenses.tris.geometry import Partition, majority_cluster
from defenses.tris.prefix import Overlap, PrefixCheck
from defenses.tris.verifier import Opinion, Verifier
from defenses.vectors import document_vectors

_log = logging.getLogger(__name__)


class TrisStage:
    """Majority cluster, prefix overlap and isolated verification, each on its own switch.

    A document goes when one active layer rejects it. Where all would go, all stay, with a warning and
    the reason `unfiltered_fallback` (paper, section 4). Credibility is the share of the document's
    cluster times what its prefix does not share with the question, 0 for a contradiction: a ranking of
    ours, the paper gives verdicts only. Stateless; layer 3 fails open and its failures are in the notes.
    """

    name = "tris"
    hook = Hook.POST_RETRIEVAL

    def __init__(self, config: Mapping[str, Any] | TrisConfig | None, resources: Resources) -> None:
        if not isinstance(config, TrisConfig):
            config = parse(TrisConfig, config or {}, self.name)
        self.config = config
        self._judge = _judge(config, resources)
        self._llm = None if config.verifier == "off" else require_llm(resources.llm, "tris with a verifier")

    def run(self, given: StageInput) -> StageResult:
        n = len(given.documents)
        if not n:
            return StageResult((), ())
        partition = self._partition(given)
        overlaps, echoes = self._prefixes(given)
        opinions, notes = self._verify(given, ~partition.kept, echoes)
        contradicts = np.array([opinion is Opinion.CONTRADICT for opinion in opinions])
        rejected = ~partition.kept | echoes | contradicts
        credibility = np.where(contradicts, 0.0, partition.share * [1.0 - o.largest for o in overlaps])
        evidence = [
            {
                "cluster_share": float(partition.share[i]),
                "outside_majority": float(not partition.kept[i]),
                "jaccard": overlap.jaccard,
                "bigrams": overlap.bigrams,
                "trigrams": overlap.trigrams,
                "repeats": float(overlap.repeats),
                "contradicts": float(contradicts[i]),
                "not_verified": float(opinions[i] in (Opinion.FAILED, Opinion.UNCERTAIN)),
            }
            for i, overlap in enumerate(overlaps)
        ]
        fallback = bool(rejected.all())
        if fallback:
            _log.warning("tris rejected all %d documents of a round: they stay unfiltered", n)
        result = keep_where(
            given,
            [True] * n if fallback else [not bad for bad in rejected],
            "rejected",
            credibility=[float(np.clip(value, 0.0, 1.0)) for value in credibility],
            evidence=evidence,
        )
        verdicts = tuple(
            replace(verdict, reason="unfiltered_fallback")
            if fallback
            else replace(verdict, reason=_reason(echoes[i], contradicts[i]))
            if verdict.action is Action.DROP
            else verdict
            for i, verdict in enumerate(result.verdicts)
        )
        return replace(result, verdicts=verdicts, notes={**notes, "fallback": float(fallback)})

    def _partition(self, given: StageInput) -> Partition:
        n = len(given.documents)
        vectors = None
        if self.config.geometry:
            if self.config.judge is not None and self._judge is not None:
                vectors = self._judge.embed([document.text for document in given.documents])
            else:
                vectors = document_vectors(given, self._judge)
        if vectors is None:
            return Partition(np.ones(n, dtype=bool), np.ones(n), False)
        return majority_cluster(
            vectors, self.config.clusters, self.config.min_candidates, generator(given.seed, "tris")
        )

    def _prefixes(self, given: StageInput) -> tuple[list[Overlap], NDArray[np.bool_]]:
        if not self.config.prefix:
            return [Overlap(0.0, 0.0, 0.0, 0)] * len(given.documents), np.zeros(
                len(given.documents), dtype=bool
            )
        config = self.config
        check = PrefixCheck(
            given.query.text, config.prefix_tokens, config.overlap, config.trigger_tokens, config.repeats
        )
        found = [check.measure(document.text) for document in given.documents]
        return found, np.array([check.rejects(overlap) for overlap in found])

    def _verify(
        self, given: StageInput, outside: NDArray[np.bool_], echoes: NDArray[np.bool_]
    ) -> tuple[list[Opinion], dict[str, float]]:
        """Opinions of layer 3 on what layers 1 and 2 let through (compatible where it did not run)."""
        opinions = [Opinion.COMPATIBLE] * len(given.documents)
        if self._llm is None or not self._invoked(outside, echoes):
            return opinions, {"verifier_calls": 0.0, "verifier_failures": 0.0}
        verifier = Verifier(self._llm, given.query.text, self.config.document_calls)
        rows = np.flatnonzero(~(outside | echoes))
        for row, opinion in zip(rows, verifier.judge([given.documents[i] for i in rows]), strict=True):
            opinions[row] = opinion
        return opinions, {
            "verifier_calls": float(verifier.calls),
            "verifier_failures": float(verifier.failures),
        }

    def _invoked(self, outside: NDArray[np.bool_], echoes: NDArray[np.bool_]) -> bool:
        if self.config.verifier == "always":
            return True
        if self.config.adaptive_on == "removal":
            return bool((outside | echoes).any())
        return bool((outside != echoes).any())


def _judge(config: TrisConfig, resources: Resources) -> Embedder | None:
    """The embedder of layer 1: the one that the configuration names, else the aggregator's."""
    if config.judge is None:
        return resources.embedder
    from core.embedding import open_embedder

    return open_embedder(config.judge, resources.cache_dir)


def _reason(echo: np.bool_, contradicts: np.bool_) -> str:
    if contradicts:
        return "contradicts_belief"
    return "question_in_prefix" if echo else "outside_majority"
