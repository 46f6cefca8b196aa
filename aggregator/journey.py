"""What has happened so far in one round: written step by step, frozen into the answer at its end."""

from __future__ import annotations

import logging
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import TYPE_CHECKING

from aggregator.answer import Answer, JudgedDocument, Verification
from aggregator.fusion import Fused
from core.pipeline import StageRecord
from core.reader import Reading
from core.records import Candidate, DocumentKey, Query, SourceFailure
from core.stage import Hook
from core.verdict import Action

if TYPE_CHECKING:
    from aggregator.orchestration import Orchestration
    from aggregator.stages import Auditor

_LOG = logging.getLogger(__name__)


class Journey:
    """The notebook of one question; `seed` belongs to this round.

    Args:
        query: the question as it was asked.
        seed: what every draw of the round descends from.
        reader: name of the reader, and whether it is a simulated one.
    """

    def __init__(self, query: Query, seed: int, reader: tuple[str, bool] = ("", False)) -> None:
        self.query = query
        self.seed = seed
        self.reader = reader
        self.failures: tuple[SourceFailure, ...] = ()
        self.fused = Fused(())
        self.kept: tuple[Candidate, ...] = ()
        self.stages: list[StageRecord] = []
        self.read: tuple[Candidate, ...] = ()
        self.reading = Reading("")
        self.text = ""
        self.refused = False
        self.warnings: list[str] = []
        self.before: Mapping[str, float] = {}
        self.orchestration: Orchestration | None = None
        self.auditors: tuple[Auditor, ...] = ()
        self.withheld: set[DocumentKey] = set()
        self.latencies: dict[str, float] = {}
        self.unstored_before = 0
        self._start = time.perf_counter()
        self._elsewhere = 0.0

    @contextmanager
    def timed(self, step: str) -> Iterator[None]:
        """Book the time of the block under `step`, also where it raises."""
        start = time.perf_counter()
        try:
            yield
        finally:
            self.book(step, 1000 * (time.perf_counter() - start))

    def book(self, step: str, milliseconds: float) -> None:
        """Add time to a step."""
        self.latencies[step] = self.latencies.get(step, 0.0) + milliseconds

    def book_elsewhere(self, step: str, milliseconds: float) -> None:
        """Add time that passed before this journey began (a fan-out shared by several rounds)."""
        self.book(step, milliseconds)
        self._elsewhere += milliseconds

    def refuse(self, text: str) -> None:
        """End the journey without an answer; `text` says why."""
        self.text = text
        self.refused = True

    def note_failure(self, stage: str, hook: Hook, error: Exception) -> None:
        """Record a stage that raised outside the pipeline's own records."""
        self.stages.append(StageRecord(stage, hook, (), 0.0, f"{type(error).__name__}: {error}"))
        self.warnings.append(f"stage {stage!r} failed: {type(error).__name__}")

    def note_troubles(self, record: StageRecord) -> None:
        """Tell what a stage's record holds that a reader of the answer must know."""
        name = f"stage {record.stage!r}"
        if record.error is not None:
            self.warnings.append(f"{name} failed and judged nothing")
        if record.llm_failures:
            self.warnings.append(f"{name}: {record.llm_failures} calls of its language model failed")
        if record.notes.get("fallback"):
            self.warnings.append(f"{name} rejected every document: all stay unfiltered")

    def note_unstored(self, what: str, error: Exception | None = None) -> None:
        """Record that the disk did not take `what`: the answer stands, and says so."""
        if error is not None:
            _LOG.error("round %s: %s", self.query.request_id, error)
        self.warnings.append(f"{what} could not be stored")

    def judged(self) -> tuple[JudgedDocument, ...]:
        """Every candidate with the outcome of all stages."""
        kept = {candidate.key for candidate in self.kept}
        scores: dict[DocumentKey, float] = {}
        reasons: dict[DocumentKey, str] = {}
        dropped: set[DocumentKey] = set()
        for record in self.stages:
            for verdict in record.verdicts:
                if verdict.credibility is not None:
                    scores[verdict.key] = min(verdict.credibility, scores.get(verdict.key, 1.0))
                if verdict.action is not Action.ABSTAIN and verdict.key not in dropped:
                    reasons[verdict.key] = verdict.reason
                if verdict.action is Action.DROP:
                    dropped.add(verdict.key)
        return tuple(
            JudgedDocument(c, c.key in kept, scores.get(c.key), reasons.get(c.key, "not_judged"))
            for c in self.fused.candidates
        )

    def source_means(self) -> dict[str, float]:
        """Mean credibility of each source's distinct documents, for sources with a scored one (Eq. 13)."""
        held: dict[str, list[float]] = {}
        for document in self.judged():
            if document.credibility is not None:
                for source in document.candidate.sources:
                    held.setdefault(source, []).append(document.credibility)
        return {source: sum(values) / len(values) for source, values in held.items()}

    def verification(self, after: Mapping[str, float]) -> Verification:
        """The journey as a verification; `after` is the reliability at its end."""
        return Verification(
            query=self.query,
            documents=self.judged(),
            stages=tuple(self.stages),
            members=self.fused.members,
            warnings=tuple(self.warnings),
            reliability_before=self.before,
            reliability_after=after,
            latencies=self._closed(),
            refused=self.refused,
        )

    def answer(self, after: Mapping[str, float]) -> Answer:
        """The journey as an answer; `after` is the reliability at its end."""
        name, simulated = self.reader
        shared = vars(self.verification(after))
        return Answer(
            **shared,
            text=self.text,
            reader=name,
            simulated=simulated,
            abstained=self.reading.abstained and not self.refused,
            failures=self.failures,
            read=tuple(candidate.key for candidate in self.read),
            llm_calls=self.reading.llm_calls,
            scores=self.reading.scores,
            orchestration={} if self.orchestration is None else self.orchestration.trail(),
        )

    def sources(self) -> list[str]:
        """All sources known before the round, then others that took part, each once."""
        replied = [key.source_id for key in self.fused.members]
        return list(dict.fromkeys([*self.before, *replied, *(f.source_id for f in self.failures)]))

    def _closed(self) -> dict[str, float]:
        total = self._elsewhere + 1000 * (time.perf_counter() - self._start)
        return {**self.latencies, "total": total}
