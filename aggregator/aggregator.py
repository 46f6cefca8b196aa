"""The journey of a question, from the sources to an answer with its trail."""

from __future__ import annotations

import itertools
import uuid
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from aggregator.answer import Answer, Verification
from aggregator.audit import TrailLog
from aggregator.config import AllFiltered
from aggregator.fan_out import FanOut, Gathered
from aggregator.fusion import fuse
from aggregator.hooks import CHECK_FAILED, audit, guard
from aggregator.journey import Journey
from aggregator.reputation import Reputation
from aggregator.stages import Auditor, Guard, keeps_reputation
from core import bounds
from core.embedding.base import Embedder
from core.errors import ConfigError, RefusedError, StageError, WireError
from core.pipeline import Pipeline
from core.reader import Reader, ReadRequest
from core.records import Query, RetrievedDocument, SourceReply
from core.seeding import derive_seed
from core.stage import StageInput

if TYPE_CHECKING:
    from core.tls import TlsFiles

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
        gathered: Gathered | None = None,
    ) -> Answer:
        """Answer `question` from the documents that survive every stage.

        Args:
            top_k: documents asked of each source, 1..100.
            request_id: name of the round on the wire; drawn where None.
            user_id: whoever asks; stays inside the aggregator.
            options: the answers that a forced-choice reader chooses from.
            gathered: replies that were gathered before, in place of a fan-out.

        Raises:
            WireError: the question is empty, too long or not UTF-8, or top_k is out of range.
            LLMError: the model behind the reader failed.
            ContractError: a stage broke its contract.
        """
        journey = self._set_out(question, request_id, user_id)
        try:
            guard(self.guards, journey)
            replies = self._gather(journey, top_k, gathered)
            self._fuse(journey, replies)
            self._verify(journey)
            self._read(journey, options)
            audit(self.auditors, journey)
        except RefusedError as refusal:
            journey.refuse(str(refusal))
        self._learn(journey)
        return self._arrive(journey)

    def verify(
        self, question: str, documents: Sequence[RetrievedDocument], *, learn: bool = False
    ) -> Verification:
        """Judge documents that the caller retrieved, in each source's own order.

        The reputation changes only with `learn`: who brings documents can blame any source for them.

        Raises:
            WireError: a document is out of bounds, stands twice, or there is none.
            ContractError: a stage broke its contract.
        """
        journey = self._set_out(question, None, "")
        replies: dict[str, list[RetrievedDocument]] = {}
        for document in _checked(documents):
            replies.setdefault(document.source_id, []).append(document)
        try:
            self._fuse(journey, [SourceReply(source, tuple(own)) for source, own in replies.items()])
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
        if self.trail_log is not None:
            self.trail_log.close()

    # --- the steps ------------------------------------------------------------------------------

    def _set_out(self, question: str, request_id: str | None, user_id: str) -> Journey:
        bounds.text(question, "question", bounds.MAX_QUERY_BYTES)
        seed = derive_seed(self.seed, request_id or question)
        query = Query(question, request_id or uuid.uuid4().hex, user_id, next(self._rounds))
        journey = Journey(query, seed, (self.reader.name, self.reader.simulated))
        if self.fan_out is not None:
            journey.before = self.reputation.reliability(self.fan_out.source_ids)
        return journey

    def _gather(self, journey: Journey, top_k: int, gathered: Gathered | None) -> Sequence[SourceReply]:
        """Ask all sources at once; what fails is noted as data."""
        if gathered is not None:
            journey.book_elsewhere("fan_out", gathered.milliseconds)
        elif self.fan_out is None:
            raise ConfigError("this aggregator has no sources: pass what was gathered")
        else:
            gathered = self.fan_out.gather(journey.query, top_k)
            journey.book("fan_out", gathered.milliseconds)
        journey.failures = gathered.failures
        return gathered.replies

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
        try:
            result = self.pipeline.run(given)
        except StageError as error:
            hook = next(p.hook for p in self.pipeline.stages if p.stage.name == error.stage)
            journey.note_failure(error.stage, hook, error)
            raise RefusedError(CHECK_FAILED) from error
        journey.stages.extend(result.trail)
        journey.kept = tuple(sorted(result.documents, key=lambda document: document.rank))
        for record in result.trail:
            journey.book("verify" if record.stage in self._verifiers else "stages", record.milliseconds)
            if record.error is not None:
                journey.warnings.append(f"stage {record.stage!r} failed and judged nothing")

    def _read(self, journey: Journey, options: Sequence[str]) -> None:
        """Answer from the first kept documents."""
        documents = journey.kept
        if not journey.fused.candidates:
            raise RefusedError(NO_DOCUMENTS)
        if not documents:
            if self.all_filtered == "refuse":
                raise RefusedError(ALL_REJECTED)
            journey.warnings.append("every document was rejected: answered from the unfiltered documents")
            documents = journey.fused.candidates
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

    def _arrive(self, journey: Journey) -> Answer:
        answer = journey.answer(self.reputation.reliability(journey.before))
        if self.trail_log is not None:
            self.trail_log.write(answer)
        return answer


def _checked(documents: Sequence[RetrievedDocument]) -> list[RetrievedDocument]:
    listed = bounds.distinct(bounds.counted(documents, "documents", bounds.MAX_SUBMITTED))
    if not listed:
        raise WireError("no documents to verify")
    for document in listed:
        bounds.identifier(document.source_id, "source_id")
        bounds.document(document)
    return listed
