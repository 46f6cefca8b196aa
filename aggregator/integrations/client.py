"""What every framework's adapter is built on: a running aggregator, asked with or without an event loop."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pydantic import Field

from core.config import StrictModel, parse
from core.errors import DataError, ScrError
from core.text import content_hash, squash
from core.tls import tls_from_flags

if TYPE_CHECKING:
    from protos import aggregator_pb2


class Connection(StrictModel):
    """Where the aggregator is and how to reach it.

    `address` is HOST:PORT. Give the three PEM files, or `insecure` on a loopback address. `server_name` is
    the name in the aggregator's certificate where it is not the host; `user` is who asks; `timeout` in s.
    """

    address: str
    tls_cert: Path | None = None
    tls_key: Path | None = None
    tls_ca: Path | None = None
    server_name: str | None = None
    insecure: bool = False
    user: str = ""
    timeout: float = Field(60.0, gt=0.0)


@dataclass(frozen=True)
class Submitted:
    """A document that a framework retrieved, with the source that it came from."""

    source: str
    text: str


@dataclass(frozen=True)
class Judged:
    """A document and what the aggregator concluded.

    `verdict` is the last action of a stage, or `drop` of the one that dropped it; `reason` names stage and
    code. `credibility` in [0,1] is None where no stage scored, `similarity` where there is no embedder.
    """

    source: str
    doc_id: str
    title: str
    text: str
    kept: bool
    credibility: float | None
    similarity: float | None
    verdict: str
    reason: str
    holders: tuple[str, ...]

    def metadata(self) -> dict[str, Any]:
        """What an adapter adds to a document's metadata: plain values under fixed names."""
        return {
            "source": self.source,
            "credibility": self.credibility,
            "verdict": self.verdict,
            "reason": self.reason,
            "kept": self.kept,
            "holders": list(self.holders),
        }

    def added_to(self, metadata: Mapping[str, Any]) -> dict[str, Any]:
        """`metadata` of a framework's document with the verdict; a `source` that it has already stays."""
        return {**metadata, **self.metadata(), "source": metadata.get("source", self.source)}

    def described(self) -> dict[str, Any]:
        """`metadata` with what else is known of a document that came from the federation."""
        return {**self.metadata(), "doc_id": self.doc_id, "title": self.title, "similarity": self.similarity}


@dataclass(frozen=True)
class Asked:
    """An answer of the federation with its documents, the aggregator's order kept."""

    answer: str
    refused: bool
    documents: tuple[Judged, ...]
    warnings: tuple[str, ...]


class AggregatorClient:
    """A running aggregator. Safe for threads; connects at the first call.

    Args:
        connection: a `Connection`, or its fields.

    Raises:
        ConfigError: a wrong field, or neither TLS files nor `insecure`.
    """

    def __init__(self, connection: Connection | Mapping[str, Any]) -> None:
        from core.rotation import follow_channel
        from protos import aggregator_pb2_grpc

        self.connection = (
            connection
            if isinstance(connection, Connection)
            else parse(Connection, dict(connection), "aggregator")
        )
        given = self.connection
        tls = tls_from_flags(given.tls_cert, given.tls_key, given.tls_ca, insecure=given.insecure)
        self._channel = follow_channel(given.address, tls, expected_name=given.server_name)
        self._stub: Any = aggregator_pb2_grpc.AggregatorStub(self._channel)  # type: ignore[no-untyped-call]

    def ask(self, question: str, top_k: int = 0) -> Asked:
        """Ask the federation; `top_k` documents a source, 0: the aggregator's default.

        Raises:
            ScrError: the aggregator did not answer.
        """
        return _asked(self._wait(self._stub.Ask.future(self._ask(question, top_k), timeout=self._timeout)))

    async def aask(self, question: str, top_k: int = 0) -> Asked:
        """`ask` without blocking the event loop."""
        return _asked(
            await self._soon(self._stub.Ask.future(self._ask(question, top_k), timeout=self._timeout))
        )

    def verify(self, question: str, documents: Sequence[Submitted]) -> list[Judged]:
        """Let the aggregator judge `documents`; one `Judged` for each, in their order.

        Raises:
            DataError: a document without a source or text.
            ScrError: the aggregator did not answer.
        """
        if not documents:
            return []
        request = self._verify(question, documents)
        return _match(documents, self._wait(self._stub.Verify.future(request, timeout=self._timeout)))

    async def averify(self, question: str, documents: Sequence[Submitted]) -> list[Judged]:
        """`verify` without blocking the event loop."""
        if not documents:
            return []
        request = self._verify(question, documents)
        return _match(documents, await self._soon(self._stub.Verify.future(request, timeout=self._timeout)))

    def close(self) -> None:
        """Close the connection."""
        self._channel.close()

    @property
    def _timeout(self) -> float:
        return self.connection.timeout

    def _ask(self, question: str, top_k: int) -> aggregator_pb2.AskRequest:
        from core import bounds
        from protos import aggregator_pb2

        question = bounds.text(question, "question", bounds.MAX_QUERY_BYTES)
        return aggregator_pb2.AskRequest(question=question, top_k=top_k, user_id=self.connection.user)

    def _verify(self, question: str, documents: Sequence[Submitted]) -> aggregator_pb2.VerifyRequest:
        from core import bounds
        from protos import aggregator_pb2

        distinct = {_key(document): document for document in documents}
        bounds.counted(distinct, "documents", bounds.MAX_SUBMITTED)
        return aggregator_pb2.VerifyRequest(
            question=bounds.text(question, "question", bounds.MAX_QUERY_BYTES),
            documents=[
                aggregator_pb2.SubmittedDocument(
                    source_id=bounds.identifier(document.source, "source"),
                    doc_id=name,
                    text=bounds.text(document.text, f"text of {document.source}", bounds.MAX_TEXT_BYTES),
                )
                for (_, name), document in distinct.items()
            ],
        )

    def _wait(self, call: Any) -> Any:
        import grpc

        try:
            return call.result()
        except grpc.RpcError as error:
            raise self._failed(error) from None

    async def _soon(self, call: Any) -> Any:
        """The result of a running call, awaited: gRPC's own thread wakes the loop when it is there."""
        loop = asyncio.get_running_loop()
        done = asyncio.Event()
        call.add_done_callback(lambda _: loop.call_soon_threadsafe(done.set))
        try:
            await done.wait()
        except asyncio.CancelledError:
            call.cancel()
            raise
        return self._wait(call)

    def _failed(self, error: Any) -> ScrError:
        code, details = error.code(), squash(error.details() or "")[:300]
        return ScrError(
            f"aggregator {self.connection.address}: {code.name.lower().replace('_', ' ')}: {details}"
        )


def source_of(metadata: Mapping[str, Any] | None, key: str, number: int) -> str:
    """The source that document `number` names under `key` of its metadata.

    Raises:
        DataError: it names none: a verifier must know who told what.
    """
    value = (metadata or {}).get(key)
    if value is None or not str(value).strip():
        raise DataError(f"document {number} has no metadata key {key!r}: name the key that holds its source")
    found = str(value)
    # a long path or URL is a source all the same, but an id on the wire is short
    return found if len(found.encode("utf-8", "replace")) <= 256 else content_hash(found)


def _key(document: Submitted) -> tuple[str, str]:
    return document.source, content_hash(squash(document.text))


def _asked(reply: aggregator_pb2.AskReply) -> Asked:
    return Asked(reply.answer, reply.refused, _documents(reply), tuple(reply.warnings))


def _match(documents: Sequence[Submitted], reply: aggregator_pb2.VerifyReply) -> list[Judged]:
    """The verdict of each submitted document, copies included."""
    from dataclasses import replace

    by_text: dict[str, Judged] = {}
    for judged, message in zip(_documents(reply), reply.documents, strict=True):
        for holder in (message.key, *message.holders):
            by_text[holder.doc_id] = judged
    found = []
    for document in documents:
        judged = by_text[_key(document)[1]]
        found.append(replace(judged, source=document.source, text=document.text))
    return found


def _documents(reply: aggregator_pb2.AskReply | aggregator_pb2.VerifyReply) -> tuple[Judged, ...]:
    last: dict[tuple[str, str], tuple[str, str]] = {}
    for stage in reply.trail:
        for verdict in stage.verdicts:
            key = (verdict.key.source_id, verdict.key.doc_id)
            if last.get(key, ("", ""))[0] != "drop":
                last[key] = (verdict.action, f"{stage.stage}: {verdict.reason}")
    return tuple(
        Judged(
            source=one.key.source_id,
            doc_id=one.key.doc_id,
            title=one.title,
            text=one.text,
            kept=one.kept,
            credibility=one.credibility if one.HasField("credibility") else None,
            similarity=one.similarity if one.HasField("similarity") else None,
            verdict=action if one.kept else "drop",
            reason=reason,
            holders=tuple(dict.fromkeys(holder.source_id for holder in one.holders)) or (one.key.source_id,),
        )
        for one in reply.documents
        for action, reason in [last.get((one.key.source_id, one.key.doc_id), ("keep", "not judged"))]
    )
