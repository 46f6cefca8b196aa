"""The journey of a question, from the sources to an answer with its trail."""

from __future__ import annotations

import itertools
import uuid
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from aggregator.answer import Answer, Verification
from aggregator.audit import TrailLog
from aggregator.config import AllFiltered
from aggregator.fan_out import FanOut, Gathered
from aggregator.fusion import fuse, submitted
from aggregator.hooks import CHECK_FAILED, QUERY_REFUSED, audit, guard
from aggregator.journey import Journey
from aggregator.quorum import Quorum
from aggregator.reputation import Reputation
from aggregator.roster import Roster
from aggregator.stages import Auditor, Guard, keeps_reputation
from core import bounds
from core.embedding.base import Embedder
from core.errors import ConfigError, RefusedError, StageError, StoreError
from core.pipeline import Pipeline, narrow
from core.reader import Reader, ReadRequest
from core.records import PrivacyRequest, Query, RetrievedDocument, SourceReply
from core.seeding import derive_seed
from core.stage import StageInput
from core.verdict import Action

if TYPE_CHECKING:
    from aggregator.dialling import Dialling
    from aggregator.orchestration import Orchestrator
    from core.tls import TlsFiles

# replies that were gathered before, or how to gather them with the privacy that a plan asks for
Prepared = Gathered | Callable[[PrivacyRequest | None], Gathered]

NO_DOCUMENTS = "No source returned a document for this question."
ALL_REJECTED = "Every retrieved document was rejected as not credible, so the question is not answered."


class Aggregator:
    """Asks every source, judges what comes back, answers from what survives, remembers whom to trust.

    Safe for concurrent use where its stages and reader are.

    Args:
        fan_out: the sources; None where callers always bring what was gathered.
        pipeline: the stages that judge documents, in order.
        reader: what answers from the documents that were kept.
        reputation: reliability of the sources, shared with the verifying stage of the pipeline.
        embedder: the aggregator's own; None orders by rank instead of similarity.
        guards: stages that judge the query first.
        auditors: stages that judge the answer last.
        reader_k: how many kept documents the reader sees.
        all_filtered: what happens where every document was dropped: `refuse` or `unfiltered`.
        seed: what every draw descends from; a secret of the aggregator where sources are hostile.
        trail_log: where the trail of every round is appended; None writes none.
        orchestrator: chooses further stages for each question; `pipeline`, `guards` and `auditors` run
            in any case. None runs those alone.
        quorum: how many sources must reply; None is content with any.
        roster: where an operator's changes to the sources are kept; None keeps none beyond the process.
        dialling: how sources that an operator adds are reached; None dials them without TLS.
    """

    def __init__(
        self,
        fan_out: FanOut | None,
        pipeline: Pipeline,
        reader: Reader,
        reputation: Reputation,
        embedder: Embedder | None = None,
        *,
        guards: Sequence[Guard] = (),
        auditors: Sequence[Auditor] = (),
        reader_k: int = 5,
        all_filtered: AllFiltered = "refuse",
        seed: int = 0,
        trail_log: TrailLog | None = None,
        orchestrator: Orchestrator | None = None,
        quorum: Quorum | None = None,
        roster: Roster | None = None,
        dialling: Dialling | None = None,
    ) -> None:
        if all_filtered not in ("refuse", "unfiltered"):
            raise ConfigError(f"all_filtered must be refuse or unfiltered, not {all_filtered!r}")
        if reader_k < 1:
            raise ConfigError(f"reader_k must be at least 1, not {reader_k}")
        self.fan_out = fan_out
        self.pipeline = pipeline
        self.reader = reader
        self.reputation = reputation
        self.embedder = embedder
        self.guards = tuple(guards)
        self.auditors = tuple(auditors)
        self.reader_k = reader_k
        self.all_filtered = all_filtered
        self.seed = seed
        self.trail_log = trail_log
        self.orchestrator = orchestrator
        self.quorum = quorum or Quorum()
        self.roster = roster or Roster()
        self.dialling = dialling
        self._rounds = itertools.count()
        self._verifiers = {p.stage.name for p in pipeline.stages if keeps_reputation(p.stage)}

    @classmethod
    def connect(
        cls,
        sources: Mapping[str, str],
        *,
        tls: TlsFiles | None = None,
        defenses: Sequence[str | Mapping[str, Any]] = ("scr",),
        reader: str = "extractive",
        **settings: Any,
    ) -> Aggregator:
        """An aggregator over `sources` (id -> HOST:PORT); `settings` are keys of `AggregatorConfig`.

        Raises:
            ConfigError: a wrong setting, or an unknown defense or reader.
        """
        from aggregator.assembly import assemble
        from aggregator.config import AggregatorConfig
        from core.config import parse

        given = {"sources": dict(sources), "defenses": list(defenses), "reader": reader, **settings}
        return assemble(parse(AggregatorConfig, given, "Aggregator.connect"), tls)

    def ask(
        self,
        question: str,
        *,
        top_k: int = 5,
        request_id: str | None = None,
        user_id: str = "",
        options: Sequence[str] = (),
        gathered: Prepared | None = None,
        deadline_s: float | None = None,
    ) -> Answer:
        """Answer `question` from the documents that survive every stage.

        Args:
            top_k: documents asked of each source, 1..100.
            request_id: name of the round on the wire; drawn where None.
            user_id: whoever asks; stays inside the aggregator.
            options: the answers that a forced-choice reader chooses from.
            gathered: replies that were gathered before, in place of a fan-out; or a function that
                gathers them with the privacy asked for.
            deadline_s: seconds for the fan-out, where less than its own deadline.

        Raises:
            WireError: the question is empty, too long or not UTF-8, or top_k is out of range.
            LLMError: the model behind the reader failed.
            ContractError: a stage broke its contract.
        """
        journey = self._set_out(question, request_id, user_id)
        try:
            guard(self.guards, journey)
            self._plan(journey)
            replies = self._gather(journey, top_k, gathered, deadline_s)
            self._fuse(journey, replies)
            self._verify(journey)
            self._read(journey, options)
            audit((*self.auditors, *journey.auditors), journey)
        except RefusedError as refusal:
            journey.refuse(str(refusal))
        self._learn(journey)
        return self._arrive(journey)

    def verify(
        self, question: str, documents: Sequence[RetrievedDocument], *, learn: bool = False
    ) -> Verification:
        """Judge documents that the caller retrieved, in each source's own order.

        The reputation changes only with `learn`: who brings documents can blame any source for them.
        Nothing is orchestrated here: the configured stages run, and they alone.

        Raises:
            WireError: a document is out of bounds, stands twice, or there is none.
            ContractError: a stage broke its contract.
        """
        journey = self._set_out(question, None, "")
        replies = submitted(documents)
        try:
            self._fuse(journey, replies)
            if learn:
                self._verify(journey)
                self._learn(journey)
            else:
                with self.reputation.frozen():
                    self._verify(journey)
        except RefusedError as refusal:
            journey.refuse(str(refusal))
        return journey.verification(self.reputation.reliability(journey.before))

    def close(self) -> None:
        """Close channels, reputation and trail."""
        if self.fan_out is not None:
            self.fan_out.close()
        self.reputation.close()
        self.roster.close()
        if self.orchestrator is not None:
            self.orchestrator.close()
        if self.trail_log is not None:
            self.trail_log.close()

    # --- the steps ------------------------------------------------------------------------------

    def _set_out(self, question: str, request_id: str | None, user_id: str) -> Journey:
        bounds.text(question, "question", bounds.MAX_QUERY_BYTES)
        seed = derive_seed(self.seed, request_id or question)
        query = Query(question, request_id or uuid.uuid4().hex, user_id, next(self._rounds))
        journey = Journey(query, seed, (self.reader.name, self.reader.simulated))
        journey.unstored_before = self.reputation.unstored
        if self.fan_out is not None:
            journey.before = self.reputation.reliability(self.fan_out.source_ids)
        return journey

    def _plan(self, journey: Journey) -> None:
        """First pass of the orchestrator: what is asked of the sources, or a refusal."""
        if self.orchestrator is None:
            return
        with journey.timed("plan"):
            journey.orchestration = self.orchestrator.before_retrieval(journey.query)
        if journey.orchestration.refused:
            journey.warnings.append(f"refused: {journey.orchestration.before_plan.explain()}")
            raise RefusedError(QUERY_REFUSED)

    def _gather(
        self, journey: Journey, top_k: int, gathered: Prepared | None, deadline_s: float | None
    ) -> Sequence[SourceReply]:
        """Ask all sources at once; what fails is noted as data."""
        privacy = None if journey.orchestration is None else journey.orchestration.privacy
        if gathered is None:
            if self.fan_out is None:
                raise ConfigError("this aggregator has no sources: pass what was gathered")
            found = self.fan_out.gather(journey.query, top_k, privacy, deadline_s)
            journey.book("fan_out", found.milliseconds)
        else:
            if isinstance(gathered, Gathered):
                found = gathered
                if privacy is not None:
                    journey.warnings.append("privacy was planned, but the replies had been gathered before")
            else:
                found = gathered(privacy)
            journey.book_elsewhere("fan_out", found.milliseconds)
        journey.failures = found.failures
        if warning := self.quorum.warning(len(found.replies)):
            journey.warnings.append(warning)
        return found.replies

    def _fuse(self, journey: Journey, replies: Sequence[SourceReply]) -> None:
        """One ordered list of distinct texts; and what is known of their sources before the round."""
        with journey.timed("fuse"):
            seed = derive_seed(journey.seed, "fuse")
            journey.fused = fuse(replies, journey.query, self.embedder, seed)
        journey.before = self.reputation.reliability(journey.sources())

    def _verify(self, journey: Journey) -> None:
        """Run the stages; `journey.kept` is what survives them, in the aggregator's own order."""
        fused = journey.fused
        if not fused.candidates:
            return
        given = StageInput(
            query=journey.query,
            documents=fused.candidates,
            vectors=fused.vectors,
            query_vector=fused.query_vector,
            reliability=dict(journey.before),
            seed=derive_seed(journey.seed, "stages"),
        )
        if self.orchestrator is not None and journey.orchestration is None:
            self.orchestrator.learn(given)  # a warm-up round brought to `verify`
        left = self._run(self.pipeline, journey, given)
        if self.orchestrator is not None and journey.orchestration is not None:
            left = self._run(self._planned(self.orchestrator, journey, given), journey, left)
        journey.kept = tuple(sorted(left.documents, key=lambda document: document.rank))

    def _planned(self, orchestrator: Orchestrator, journey: Journey, given: StageInput) -> Pipeline:
        """Second pass of the orchestrator: the stages that its plan adds to the configured ones."""
        assert journey.orchestration is not None
        scores = {d.key: d.credibility for d in journey.judged() if d.credibility is not None}
        with journey.timed("plan"):
            journey.orchestration, chosen = orchestrator.after_retrieval(journey.orchestration, given, scores)
        journey.auditors = chosen.auditors
        return chosen.pipeline

    def _run(self, pipeline: Pipeline, journey: Journey, given: StageInput) -> StageInput:
        """Run `pipeline` and note its trail; returns what the next one is given."""
        try:
            result = pipeline.run(given)
        except StageError as error:
            hook = next(p.hook for p in pipeline.stages if p.stage.name == error.stage)
            journey.note_failure(error.stage, hook, error)
            raise RefusedError(CHECK_FAILED) from error
        journey.stages.extend(result.trail)
        for place, record in zip(pipeline.stages, result.trail, strict=True):
            journey.book("verify" if record.stage in self._verifiers else "stages", record.milliseconds)
            journey.note_troubles(record)
            if getattr(place.stage, "withholds", False):
                journey.withheld.update(v.key for v in record.verdicts if v.action is Action.DROP)
        return narrow(given, result.documents)

    def _read(self, journey: Journey, options: Sequence[str]) -> None:
        """Answer from the first kept documents."""
        documents = journey.kept
        if not journey.fused.candidates:
            raise RefusedError(NO_DOCUMENTS)
        if not documents:
            documents = tuple(c for c in journey.fused.candidates if c.key not in journey.withheld)
            if self.all_filtered == "refuse" or not documents:
                raise RefusedError(ALL_REJECTED)
            journey.warnings.append("every document was rejected: answered from the unfiltered documents")
        journey.read = documents[: self.reader_k]
        seed = derive_seed(journey.seed, "read")
        with journey.timed("read"):
            journey.reading = self.reader.read(
                ReadRequest(journey.query.text, journey.read, tuple(options), seed)
            )
        journey.text = journey.reading.text

    def _learn(self, journey: Journey) -> None:
        """Eq. 13 with each source's mean credibility, where no verifier did it and some stage scored."""
        means = {} if self._verifiers else journey.source_means()
        if means:
            self.reputation.update(means)
        if self.orchestrator is not None and journey.orchestration is not None:
            masked = journey.text != journey.reading.text and bool(journey.read)
            try:
                self.orchestrator.conclude(journey.query, journey.orchestration, masked=masked)
            except StoreError as error:
                journey.note_unstored("the trust of the asker", error)
        if self.reputation.unstored > journey.unstored_before:
            journey.note_unstored("the reliability of the sources")

    def _arrive(self, journey: Journey) -> Answer:
        answer = journey.answer(self.reputation.reliability(journey.before))
        if self.trail_log is None:
            return answer
        try:
            self.trail_log.write(answer)
        except StoreError as error:
            journey.note_unstored("the trail", error)
            return replace(answer, warnings=tuple(journey.warnings))
        return answer
