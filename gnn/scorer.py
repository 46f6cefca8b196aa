"""`CredibilityScorer`: from the documents of a round to their credibility and the sources' reliability."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from core.embedding.base import Embedder
from core.records import Candidate
from gnn.audit import CommonsenseAuditor, penalty_evidence
from gnn.beliefs_io import about
from gnn.checkpoint import Checkpoint, load_checkpoint
from gnn.content import FEATURES as CONTENT_FEATURES
from gnn.graph import SCHEMA as GRAPH_SCHEMA
from gnn.graph import build_graph
from gnn.inference.source_filter import SourceBeliefs
from gnn.relations.scorer import MLP, LexicalRelationScorer, RelationScorer
from gnn.relations.scorer import SCHEMA as RELATION_SCHEMA
from gnn.round import VerificationRound, prepare_round
from gnn.runner import NetworkRunner
from gnn.signals import Channels, Signals, sigmoid, with_evidence

SCHEMAS = {
    "relations": RELATION_SCHEMA,
    "content": "content/1/" + "+".join(CONTENT_FEATURES),
    "graph": GRAPH_SCHEMA,
}
KEEP_ABOVE = 0.5


@dataclass(frozen=True)
class Scored:
    """Result of one round over n documents and m sources.

    `credibility` (n,) in [0,1], documents below `KEEP_ABOVE` are rejected; `reliability` by source in
    [0,1]; `state` is what the next round starts from; `evidence` per document, for the trail;
    `content_logit` (n,) lets a caller choose a threshold on clean rounds.
    """

    credibility: NDArray[np.float64]
    reliability: dict[str, float]
    state: Any
    evidence: tuple[Mapping[str, float], ...]
    content_logit: NDArray[np.float64]

    @property
    def kept(self) -> NDArray[np.bool_]:
        return self.credibility >= KEEP_ABOVE


@dataclass(frozen=True)
class Audit:
    """A commonsense audit: documents with `low` <= credibility <= `high` are shown to `auditor`.

    `weight` is how far its penalties are believed.
    """

    auditor: CommonsenseAuditor
    low: float = 0.4
    high: float = 0.6
    weight: float = 1.0


class CredibilityScorer:
    """The default verifier: channels, source filter and graph attention network of one checkpoint.

    Args:
        checkpoint: trained parts; None loads the one shipped with the package.
        threshold: content threshold of the deployment's domain (`scr calibrate`); None takes the
            checkpoint's.
        relations: another judge of sentence pairs, None the checkpoint's lexical one.
        network: False scores by the channels alone.
        content: False leaves the content channel out: agreement between sources decides alone.
        audit: a second look at uncertain documents; None: there is none.

    Raises:
        CheckpointError: the checkpoint is missing or does not fit this version.
    """

    def __init__(
        self,
        checkpoint: Checkpoint | Path | str | None = None,
        *,
        threshold: float | None = None,
        relations: RelationScorer | None = None,
        network: bool = True,
        content: bool = True,
        audit: Audit | None = None,
    ) -> None:
        if not isinstance(checkpoint, Checkpoint):
            checkpoint = load_checkpoint(checkpoint, SCHEMAS)
        self.checkpoint = checkpoint
        self.audit = audit
        arrays = checkpoint.arrays
        self.channels = Channels(
            relations or LexicalRelationScorer.from_arrays(arrays),
            MLP.from_arrays(arrays, "content") if content else None,
        )
        self.threshold = float(checkpoint.meta["threshold"] if threshold is None else threshold)
        self._calibration = checkpoint.meta.get("calibration", {})
        self._network = NetworkRunner(checkpoint) if network and "network" in checkpoint.meta else None

    def start(self, sources: Sequence[str]) -> SourceBeliefs:
        """Beliefs before the first round."""
        return self.channels.start(tuple(sources))

    def verify(
        self,
        question: str,
        candidates: Sequence[Candidate],
        embedder: Embedder,
        state: SourceBeliefs | None = None,
        **vectors: Any,
    ) -> Scored:
        """Score `candidates` of `question`; `vectors` as in `prepare_round`."""
        return self.score(prepare_round(question, candidates, embedder, **vectors), state)

    def score(self, given: VerificationRound, state: SourceBeliefs | None = None) -> Scored:
        """Score one prepared round.

        Sources of `state` that did not answer keep their beliefs; new ones start at the prior.
        """
        given, prior = self.aligned(given, state)
        signals = self.channels.run(given, prior, self.threshold)
        return self.scored(given, signals)

    def aligned(
        self, given: VerificationRound, state: SourceBeliefs | None
    ) -> tuple[VerificationRound, SourceBeliefs]:
        """The round and the beliefs over one set of sources."""
        if state is None:
            return given, self.start(given.sources)
        names = tuple(sorted({*state.sources, *given.sources}))
        prior = about(state, names, self.channels.filter_for(len(names)))
        if names != given.sources:
            column = {name: j for j, name in enumerate(given.sources)}
            holders = np.zeros((len(given.candidates), len(names)), dtype=bool)
            for j, name in enumerate(names):
                if name in column:
                    holders[:, j] = given.holders[:, column[name]]
            given = replace(given, sources=names, holders=holders)
        return given, prior

    def content_logits(self, given: VerificationRound) -> NDArray[np.float64]:
        """(n,) content logits, for choosing a threshold."""
        return self.channels.content_logits(given)[1]

    def scored(self, given: VerificationRound, signals: Signals) -> Scored:
        """The result for signals that were computed already."""
        credibility = self._credibility(signals)
        evidence = _evidence(signals)
        if self.audit is not None:
            uncertain = (credibility >= self.audit.low) & (credibility <= self.audit.high)
            penalties = self.audit.auditor.penalties(given.texts, uncertain)
            audited = np.isfinite(penalties)
            if audited.any():
                signals = with_evidence(signals, penalty_evidence(penalties, self.audit.weight))
                credibility = np.where(audited, self._credibility(signals), credibility)
                evidence = tuple(
                    {**row, "commonsense": round(float(p), 4)} if np.isfinite(p) else row
                    for row, p in zip(evidence, penalties, strict=True)
                )
        reliability = dict(zip(given.sources, map(float, signals.beliefs.honest), strict=True))
        return Scored(credibility, reliability, signals.prior, evidence, signals.content_logit)

    def _credibility(self, signals: Signals) -> NDArray[np.float64]:
        """(n,) calibrated credibility by the network, or by the channels where there is none."""
        if self._network is not None:
            logits = self._network.logits(build_graph(signals))
        else:
            logits = signals.fused_logit
        slope = float(self._calibration.get("slope", 1.0))
        offset = float(self._calibration.get("offset", 0.0))
        return np.clip(sigmoid(slope * logits + offset), 0.0, 1.0)


def _evidence(signals: Signals) -> tuple[Mapping[str, float], ...]:
    """What each document was judged by, for the trail."""
    columns = {
        "content": signals.margin,
        "verification": signals.verification,
        "holder_honest": signals.any_honest,
        "tampering": signals.tampering,
        "agree": signals.relations.degree(signals.relations.agreed),
        "conflict": signals.relations.degree(signals.relations.contested),
    }
    table = np.column_stack(list(columns.values())).astype(np.float64)
    rounded = np.where(np.isfinite(table), table.round(4), 0.0).tolist()
    return tuple(dict(zip(columns, row, strict=True)) for row in rounded)
