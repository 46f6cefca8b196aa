"""Records ↔ messages of `securecollarag.v1`, bounds checked both ways (`core.bounds`).

Whatever comes from a peer passes one of the `from_…` functions before anything else sees it; what
leaves passes `to_…`. Both refuse with `WireError`: `kind` `identity` where a reply claims another
source than the one that was asked, `malformed` for everything else.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

from core import bounds
from core.bounds import (
    MAX_DETAIL_BYTES,
    MAX_DOCUMENTS,
    MAX_EVIDENCE,
    MAX_MESSAGE_BYTES,
    MAX_QUERY_BYTES,
    MAX_SUBMITTED,
    MAX_TEXT_BYTES,
)
from core.errors import WireError
from core.pipeline import StageRecord
from core.records import (
    Candidate,
    DocumentKey,
    NodeDescription,
    PrivacyRequest,
    Query,
    RetrievedDocument,
    SourceFailure,
    SourceReply,
)
from core.stage import Hook
from core.verdict import Action, Verdict
from protos import aggregator_pb2, source_node_pb2, types_pb2

WIRE_VERSION = 1

__all__ = ["MAX_DOCUMENTS", "MAX_MESSAGE_BYTES", "MAX_QUERY_BYTES", "MAX_TEXT_BYTES", "WIRE_VERSION"]

# --- SourceNode -----------------------------------------------------------------------------------


def to_retrieve_request(
    query: Query, top_k: int, privacy: PrivacyRequest | None = None
) -> source_node_pb2.RetrieveRequest:
    """What a source is asked; of the query only its text and request id leave the process."""
    message = source_node_pb2.RetrieveRequest(
        query=bounds.text(query.text, "query", MAX_QUERY_BYTES),
        top_k=bounds.count_asked(top_k),
        request_id=bounds.identifier(query.request_id, "request_id", empty=True),
    )
    if privacy is not None:
        message.privacy.mechanism = bounds.identifier(privacy.mechanism, "privacy mechanism")
        message.privacy.epsilon = _epsilon(privacy.epsilon)
    return message


def from_retrieve_request(
    message: source_node_pb2.RetrieveRequest,
) -> tuple[Query, int, PrivacyRequest | None]:
    """(query, top_k, privacy) of a caller's request; privacy None where the caller asks for none."""
    query = Query(
        text=bounds.text(message.query, "query", MAX_QUERY_BYTES),
        request_id=bounds.identifier(message.request_id, "request_id", empty=True),
    )
    privacy = None
    if message.HasField("privacy"):
        mechanism = bounds.identifier(message.privacy.mechanism, "privacy mechanism")
        privacy = PrivacyRequest(mechanism, _epsilon(message.privacy.epsilon))
    return query, bounds.count_asked(message.top_k), privacy


def _epsilon(value: float) -> float:
    if not value > 0:
        raise WireError(f"privacy epsilon is {value:g}, must be above 0")
    return bounds.number(value, "privacy epsilon")


def to_retrieve_reply(reply: SourceReply, request_id: str = "") -> source_node_pb2.RetrieveReply:
    """A source's reply; document i goes out at rank i + 1."""
    listed = bounds.distinct(bounds.counted(reply.documents, "documents", MAX_DOCUMENTS))
    message = source_node_pb2.RetrieveReply(
        source_id=bounds.identifier(reply.source_id, "source_id"),
        documents=[
            types_pb2.Document(
                doc_id=d.doc_id,
                title=d.title,
                text=d.text,
                category=d.category or "",
                score=d.score,
                rank=rank,
            )
            for rank, d in enumerate(map(bounds.document, listed), start=1)
        ],
        request_id=bounds.identifier(request_id, "request_id", empty=True),
    )
    if message.ByteSize() > MAX_MESSAGE_BYTES:
        raise WireError(f"the reply has {message.ByteSize()} bytes, more than {MAX_MESSAGE_BYTES}")
    return message


def from_retrieve_reply(
    message: source_node_pb2.RetrieveReply,
    expected_source: str,
    *,
    request_id: str | None = None,
    top_k: int = MAX_DOCUMENTS,
    milliseconds: float = 0.0,
) -> SourceReply:
    """A source's reply as a record; the rank is the position, whatever the source claims.

    `request_id` None leaves the echo of the request unchecked; `milliseconds` is the caller's clock.

    Raises:
        WireError: `identity` where the reply is not from `expected_source`; `malformed` where it
            answers another request, has more than `top_k` documents, one id twice, an empty or
            oversized text, or a score that is not finite.
    """
    _same_source(message.source_id, expected_source)
    if request_id is not None and message.request_id != request_id:
        raise WireError(f"answers request {message.request_id[:80]!r}, not {request_id!r}")
    if len(message.documents) > top_k:
        raise WireError(f"{len(message.documents)} documents where {top_k} were asked for")
    documents = [
        bounds.document(
            RetrievedDocument(expected_source, d.doc_id, d.text, d.title, d.category or None, d.score, rank)
        )
        for rank, d in enumerate(message.documents, start=1)
    ]
    return SourceReply(expected_source, tuple(bounds.distinct(documents)), milliseconds)


def _same_source(claimed: str, expected: str) -> None:
    if claimed != expected:
        raise WireError(f"answers as source {claimed[:80]!r}, not {expected!r}", kind="identity")


def to_describe_reply(node: NodeDescription) -> source_node_pb2.DescribeReply:
    """A node's description."""
    return source_node_pb2.DescribeReply(
        source_id=bounds.identifier(node.source_id, "source_id"),
        n_documents=node.n_documents,
        retriever=node.retriever,
        embedder=node.embedder,
        max_top_k=node.max_top_k,
        wire_version=WIRE_VERSION,
        privacy_mechanisms=node.privacy_mechanisms,
    )


def from_describe_reply(message: source_node_pb2.DescribeReply, expected_source: str) -> NodeDescription:
    """A node's description.

    Raises:
        WireError: another source (`identity`), another wire version, or a field out of bounds.
    """
    _same_source(message.source_id, expected_source)
    if message.wire_version != WIRE_VERSION:
        raise WireError(f"speaks wire version {message.wire_version}, not {WIRE_VERSION}")
    return NodeDescription(
        source_id=expected_source,
        n_documents=message.n_documents,
        retriever=bounds.identifier(message.retriever, "retriever"),
        embedder=bounds.identifier(message.embedder, "embedder", empty=True),
        max_top_k=bounds.count_asked(message.max_top_k),
        privacy_mechanisms=tuple(
            bounds.identifier(name, "privacy mechanism")
            for name in bounds.counted(message.privacy_mechanisms, "privacy mechanisms", MAX_EVIDENCE)
        ),
    )


# --- Aggregator: requests -------------------------------------------------------------------------


def to_ask_request(question: str, top_k: int, user_id: str = "") -> aggregator_pb2.AskRequest:
    """A question to an aggregator, which asks each source for `top_k` documents."""
    return aggregator_pb2.AskRequest(
        question=bounds.text(question, "question", MAX_QUERY_BYTES),
        top_k=bounds.count_asked(top_k),
        user_id=bounds.identifier(user_id, "user_id", empty=True),
    )


def from_ask_request(message: aggregator_pb2.AskRequest, default_top_k: int) -> tuple[Query, int]:
    """(query, top_k) of a user's question; top_k 0 means `default_top_k`."""
    query = Query(
        text=bounds.text(message.question, "question", MAX_QUERY_BYTES),
        user_id=bounds.identifier(message.user_id, "user_id", empty=True),
    )
    return query, bounds.count_asked(message.top_k or default_top_k)


def to_verify_request(question: str, documents: Iterable[RetrievedDocument]) -> aggregator_pb2.VerifyRequest:
    """Documents that the caller retrieved, to be verified for `question`."""
    return aggregator_pb2.VerifyRequest(
        question=bounds.text(question, "question", MAX_QUERY_BYTES),
        documents=[
            aggregator_pb2.SubmittedDocument(
                source_id=d.source_id, doc_id=d.doc_id, title=d.title, text=d.text, category=d.category or ""
            )
            for d in _submitted(documents)
        ],
    )


def from_verify_request(
    message: aggregator_pb2.VerifyRequest,
) -> tuple[Query, tuple[RetrievedDocument, ...]]:
    """(query, documents) of a Verify request; ranks count within each source, in the order sent."""
    query = Query(text=bounds.text(message.question, "question", MAX_QUERY_BYTES))
    documents = _submitted(
        RetrievedDocument(d.source_id, d.doc_id, d.text, d.title, d.category or None)
        for d in message.documents
    )
    return query, tuple(documents)


def _submitted(documents: Iterable[RetrievedDocument]) -> list[RetrievedDocument]:
    listed = bounds.distinct(bounds.counted(documents, "documents", MAX_SUBMITTED))
    if not listed:
        raise WireError("no documents to verify")
    ranked = []
    seen: dict[str, int] = {}
    for document in listed:
        bounds.identifier(document.source_id, "source_id")
        seen[document.source_id] = seen.get(document.source_id, 0) + 1
        ranked.append(replace(bounds.document(document), rank=seen[document.source_id]))
    return ranked


# --- Aggregator: what it concluded ----------------------------------------------------------------


def to_key(key: DocumentKey) -> types_pb2.DocumentKey:
    """A document's identity."""
    return types_pb2.DocumentKey(
        source_id=bounds.identifier(key.source_id, "source_id"),
        doc_id=bounds.identifier(key.doc_id, "doc_id"),
    )


def from_key(message: types_pb2.DocumentKey) -> DocumentKey:
    """A document's identity."""
    return DocumentKey(
        bounds.identifier(message.source_id, "source_id"), bounds.identifier(message.doc_id, "doc_id")
    )


def to_verdict(verdict: Verdict) -> types_pb2.Verdict:
    """A stage's verdict; credibility stays unset where the stage does not score."""
    _evidence_fits(len(verdict.evidence))
    return types_pb2.Verdict(
        key=to_key(verdict.key),
        action=verdict.action.value,
        credibility=_unit(verdict.credibility, "credibility"),
        reason=bounds.identifier(verdict.reason, "reason", empty=True),
        evidence=verdict.evidence,
    )


def from_verdict(message: types_pb2.Verdict) -> Verdict:
    """A stage's verdict."""
    _evidence_fits(len(message.evidence))
    return Verdict(
        key=from_key(message.key),
        action=bounds.member(Action, message.action, "action"),
        credibility=_unit(message.credibility if message.HasField("credibility") else None, "credibility"),
        reason=bounds.identifier(message.reason, "reason", empty=True),
        evidence=dict(message.evidence),
    )


def _evidence_fits(count: int) -> None:
    if count > MAX_EVIDENCE:
        raise WireError(f"{count} evidence numbers, more than {MAX_EVIDENCE}")


def _unit(value: float | None, what: str) -> float | None:
    return None if value is None else bounds.number(value, what, 0.0, 1.0)


def to_stage_trail(record: StageRecord) -> types_pb2.StageTrail:
    """What one stage did in one round; a long error is cut."""
    return types_pb2.StageTrail(
        stage=bounds.identifier(record.stage, "stage"),
        hook=record.hook.value,
        verdicts=[to_verdict(v) for v in bounds.counted(record.verdicts, "verdicts", MAX_SUBMITTED)],
        error=_cut(record.error or ""),
        milliseconds=bounds.number(record.milliseconds, "milliseconds", low=0.0),
    )


def from_stage_trail(message: types_pb2.StageTrail) -> StageRecord:
    """What one stage did in one round (`notes` do not travel)."""
    return StageRecord(
        stage=bounds.identifier(message.stage, "stage"),
        hook=bounds.member(Hook, message.hook, "hook"),
        verdicts=tuple(from_verdict(v) for v in bounds.counted(message.verdicts, "verdicts", MAX_SUBMITTED)),
        milliseconds=bounds.number(message.milliseconds, "milliseconds", low=0.0),
        error=bounds.text(message.error, "error", MAX_DETAIL_BYTES, empty=True) or None,
    )


def to_failure(failure: SourceFailure) -> aggregator_pb2.Failure:
    """Why a source gave nothing; a long detail is cut."""
    return aggregator_pb2.Failure(
        source_id=bounds.identifier(failure.source_id, "source_id"),
        kind=bounds.identifier(failure.kind, "kind"),
        detail=_cut(failure.detail),
    )


def from_failure(message: aggregator_pb2.Failure) -> SourceFailure:
    """Why a source gave nothing."""
    return SourceFailure(
        bounds.identifier(message.source_id, "source_id"),
        bounds.identifier(message.kind, "kind"),
        bounds.text(message.detail, "detail", MAX_DETAIL_BYTES, empty=True),
    )


def _cut(text: str) -> str:
    return text.encode("utf-8", "replace")[:MAX_DETAIL_BYTES].decode("utf-8", "ignore")


def to_verified_document(
    candidate: Candidate, *, kept: bool, credibility: float | None
) -> aggregator_pb2.VerifiedDocument:
    """A document with what the aggregator concluded; scores stay unset where there are none."""
    return aggregator_pb2.VerifiedDocument(
        key=to_key(candidate.key),
        title=candidate.title,
        text=candidate.text,
        category=candidate.category or "",
        kept=kept,
        credibility=_unit(credibility, "credibility"),
        similarity=None
        if candidate.similarity is None
        else bounds.number(candidate.similarity, "similarity"),
        holders=[to_key(holder) for holder in candidate.holders],
    )
