"""Answers and verifications as messages, small enough to send and without private detail."""

from __future__ import annotations

import itertools
from collections.abc import Mapping, Sequence
from dataclasses import replace

from aggregator.answer import Answer, JudgedDocument, Verification
from core.bounds import MAX_EVIDENCE, MAX_MESSAGE_BYTES
from core.pipeline import StageRecord
from core.records import DocumentKey, SourceFailure
from core.wire import to_failure, to_stage_trail, to_verified_document
from protos import aggregator_pb2, types_pb2

# What an asker may know of a failure; the detail names hosts and stays in the aggregator's log.
FAILURES: Mapping[str, str] = {
    "unavailable": "the source could not be reached",
    "deadline": "the source did not answer in time",
    "identity": "another party answered in place of the source",
    "oversized": "the reply was too large",
    "malformed": "the reply broke the bounds of the protocol",
    "refused": "the source refused the question",
    "overloaded": "the source is at its limit",
    "internal": "the source failed",
    "circuit_open": "the source failed too often and is left alone for a while",
}
_REASON = 60  # characters of a reason code, at most 240 bytes
_ROOM = 64 * 1024  # for the frame of a message


def to_ask_reply(answer: Answer, limit: int = MAX_MESSAGE_BYTES) -> aggregator_pb2.AskReply:
    """The reply to `Ask`, at most `limit` bytes: texts go first, then evidence, with a warning."""
    reply = aggregator_pb2.AskReply(
        answer=answer.text,
        reader=answer.reader,
        documents=[_document(document) for document in answer.documents],
        trail=_trail(answer),
        failures=[_failure(failure) for failure in answer.failures],
        reliability=answer.reliability_after,
        warnings=answer.warnings,
        round_id=answer.query.request_id,
        refused=answer.refused,
    )
    _fit(reply, answer.read, limit)
    return reply


def to_verify_reply(verification: Verification, limit: int = MAX_MESSAGE_BYTES) -> aggregator_pb2.VerifyReply:
    """The reply to `Verify`, at most `limit` bytes: texts go first, then evidence, with a warning."""
    reply = aggregator_pb2.VerifyReply(
        documents=[_document(document) for document in verification.documents],
        trail=_trail(verification),
        reliability=verification.reliability_after,
        warnings=verification.warnings,
    )
    _fit(reply, (), limit)
    return reply


def _document(document: JudgedDocument) -> aggregator_pb2.VerifiedDocument:
    return to_verified_document(document.candidate, kept=document.kept, credibility=document.credibility)


def _trail(verification: Verification) -> list[types_pb2.StageTrail]:
    trail = [to_stage_trail(_bounded(record)) for record in verification.stages]
    for stage in trail:
        stage.error = stage.error.partition(":")[0]  # the kind of error; its message may hold paths
    return trail


def _bounded(record: StageRecord) -> StageRecord:
    """`record` within the bounds of the wire: a talkative plug-in must not cost the asker the answer."""
    return replace(
        record,
        verdicts=tuple(
            replace(
                verdict,
                reason=verdict.reason[:_REASON],
                evidence=dict(itertools.islice(verdict.evidence.items(), MAX_EVIDENCE)),
            )
            for verdict in record.verdicts
        ),
    )


def _failure(failure: SourceFailure) -> aggregator_pb2.Failure:
    return to_failure(SourceFailure(failure.source_id, failure.kind, FAILURES.get(failure.kind, "")))


def _fit(
    reply: aggregator_pb2.AskReply | aggregator_pb2.VerifyReply, read: Sequence[DocumentKey], limit: int
) -> None:
    """Make `reply` fit: one source's huge documents must not cost the asker the answer."""
    if reply.ByteSize() <= limit - _ROOM:
        return
    needed = {tuple(key) for key in read}
    by_need = sorted(
        reply.documents, key=lambda d: ((d.key.source_id, d.key.doc_id) not in needed, not d.kept)
    )
    texts = [document.text for document in by_need]
    for document in by_need:
        document.text = ""
    if reply.ByteSize() > limit - _ROOM:
        for stage in reply.trail:
            for verdict in stage.verdicts:
                verdict.evidence.clear()
        reply.warnings.append("the reply was too large: evidence is left out")
    left = limit - _ROOM - reply.ByteSize()
    missing = 0
    for document, text in zip(by_need, texts, strict=True):
        size = len(text.encode("utf-8")) + 8
        if size <= left:
            document.text = text
            left -= size
        else:
            missing += 1
    if missing:
        reply.warnings.append(f"the reply was too large: the texts of {missing} documents are left out")
