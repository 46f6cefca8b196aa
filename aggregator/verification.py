"""The verifying stages: `scr` (channels, source filter, graph attention network) and `agreement` alone.

Both keep one state across rounds, the beliefs about sources, in the reputation; and a content
threshold, which `begin_warmup` / `end_warmup` choose on clean rounds of the deployment's own domain.
"""

from __future__ import annotations

import json
import threading
from collections.abc import Mapping
from dataclasses import replace
from typing import Any, ClassVar

import numpy as np
from pydantic import Field, model_validator

from aggregator.reputation import Reputation
from core.config import StrictModel, parse
from core.errors import ConfigError
from core.llm import require_llm
from core.stage import Hook, Resources, StageInput, StageResult, keep_where
from gnn.audit import CommonsenseAuditor
from gnn.beliefs_io import from_bytes, to_bytes
from gnn.calibration import clean_threshold
from gnn.inference.source_filter import SourceBeliefs
from gnn.relations.nli import NliRelationScorer
from gnn.round import VerificationRound, prepare_round
from gnn.scorer import Audit, CredibilityScorer, Scored


class VerificationConfig(StrictModel):
    """`checkpoint`: file, None for the shipped one. `threshold`: content threshold, None for the

    checkpoint's. `network`: False scores by the channels alone. `clean_cost`: share of clean documents
    that a threshold chosen in warm-up may reject. `nli`: folder or hub id of a cross-encoder for natural
    language inference that judges sentence pairs, None for the checkpoint's lexical judge. `audit`:
    documents with `tau_low` <= credibility <= `tau_high` are shown to the language model, whose penalties
    count with `audit_weight`.
    """

    checkpoint: str | None = None
    threshold: float | None = None
    network: bool = True
    clean_cost: float = Field(default=0.01, gt=0.0, lt=0.5)
    nli: str | None = None
    audit: bool = False
    tau_low: float = Field(default=0.4, ge=0.0, le=1.0)
    tau_high: float = Field(default=0.6, ge=0.0, le=1.0)
    audit_weight: float = Field(default=1.0, ge=0.0, le=10.0)

    @model_validator(mode="after")
    def _zone(self) -> VerificationConfig:
        if self.tau_low > self.tau_high:
            raise ValueError(f"tau_low {self.tau_low} must not be above tau_high {self.tau_high}")
        return self


class VerificationStage:
    """Scores every document of a round and drops those below 0.5; updates the reputation itself.

    Raises:
        ConfigError: no embedder: verification compares texts by meaning.
        CheckpointError: the checkpoint does not fit this version.
    """

    name = "scr"
    hook = Hook.POST_RETRIEVAL
    updates_reputation: ClassVar[bool] = True

    def __init__(
        self,
        config: Mapping[str, Any] | VerificationConfig | None = None,
        resources: Resources | None = None,
        reputation: Reputation | None = None,
    ) -> None:
        if not isinstance(config, VerificationConfig):
            config = parse(VerificationConfig, config or {}, f"defense {self.name}")
        self.config = config
        embedder = resources.embedder if resources is not None else None
        if embedder is None:
            raise ConfigError(f"defense {self.name!r} needs an embedder: choose one with --embedder")
        self.embedder = embedder
        self.reputation = reputation if reputation is not None else Reputation()
        self._llm = resources.llm if resources is not None else None
        self.scorer = self._open_scorer()
        self._lock = threading.Lock()
        self._warmup: list[VerificationRound] | None = None
        stored = self.reputation.state(f"{self.name}/threshold")
        if stored is not None and config.threshold is None:
            self.scorer.threshold = float(json.loads(stored))

    def _open_scorer(self) -> CredibilityScorer:
        config = self.config
        audit = None
        if config.audit:
            llm = require_llm(self._llm, f"the commonsense audit of defense {self.name!r}")
            audit = Audit(CommonsenseAuditor(llm), config.tau_low, config.tau_high, config.audit_weight)
        return CredibilityScorer(
            config.checkpoint,
            threshold=config.threshold,
            relations=NliRelationScorer(config.nli) if config.nli is not None else None,
            network=config.network,
            audit=audit,
        )

    def run(self, given: StageInput) -> StageResult:
        """Verdicts with credibility; evidence names both channels and the relations."""
        if not given.documents:
            return StageResult((), ())
        prepared = prepare_round(
            given.query.text, given.documents, self.embedder,
            vectors=given.vectors, question_vector=given.query_vector,
        )  # fmt: skip
        with self._lock:
            if self._warmup is not None:
                self._warmup.append(prepared)
            before = self._audited()
            scored = self.scorer.score(prepared, self._state())
            asked, failed = (now - then for now, then in zip(self._audited(), before, strict=True))
            self._remember(prepared, scored)
        result = keep_where(
            given,
            [bool(kept) for kept in scored.kept],
            "not_credible",
            credibility=[float(value) for value in scored.credibility],
            evidence=scored.evidence,
        )
        if self.scorer.audit is None:
            return result
        return replace(result, notes={"audits": float(asked), "audit_failures": float(failed)})

    def _audited(self) -> tuple[int, int]:
        """Calls of the commonsense audit so far, and those that failed."""
        if self.scorer.audit is None:
            return 0, 0
        count = self.scorer.audit.auditor.count
        return count.asked, count.failed

    def begin_warmup(self) -> None:
        """From now on rounds are known to be clean: they are kept to choose the threshold by."""
        with self._lock:
            self._warmup = []

    def end_warmup(self) -> None:
        """Choose the content threshold on the warm-up rounds and judge them again with it.

        Judging again matters: a foreign threshold may have accused honest sources meanwhile.
        """
        with self._lock:
            rounds, self._warmup = self._warmup or [], None
            if not rounds or self.config.threshold is not None:
                return
            logits = [self.scorer.content_logits(prepared) for prepared in rounds]
            self.scorer.threshold = clean_threshold(np.concatenate(logits), self.config.clean_cost)
            state: SourceBeliefs | None = None
            for prepared in rounds:
                scored = self.scorer.score(prepared, state)
                state = scored.state
            self.reputation.update(
                {},
                scored.reliability,
                {
                    f"{self.name}/beliefs": to_bytes(scored.state),
                    f"{self.name}/threshold": json.dumps(self.scorer.threshold).encode(),
                },
            )

    def _state(self) -> SourceBeliefs | None:
        stored = self.reputation.state(f"{self.name}/beliefs")
        return None if stored is None else from_bytes(stored)

    def _remember(self, prepared: VerificationRound, scored: Scored) -> None:
        held = prepared.holders
        means = {
            name: float(scored.credibility[held[:, j]].mean())
            for j, name in enumerate(prepared.sources)
            if held[:, j].any()
        }
        self.reputation.update(means, scored.reliability, {f"{self.name}/beliefs": to_bytes(scored.state)})


class AgreementStage(VerificationStage):
    """Source inference from agreement and conflict alone: no content channel, no network."""

    name = "agreement"

    def _open_scorer(self) -> CredibilityScorer:
        return CredibilityScorer(self.config.checkpoint, network=False, content=False)

    def end_warmup(self) -> None:
        """Nothing to choose: there is no content threshold."""
        with self._lock:
            self._warmup = None
