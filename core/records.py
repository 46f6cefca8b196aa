"""Records that travel through the system; none of them knows how to make itself from outside."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import NamedTuple


class DocumentKey(NamedTuple):
    """Identity of a document within a federation: the source that returned it and its own id."""

    source_id: str
    doc_id: str

    def __str__(self) -> str:
        return f"{self.source_id}/{self.doc_id}"


@dataclass(frozen=True, slots=True)
class Document:
    """A document as an institution stores it; `category` is None where none is known."""

    doc_id: str
    text: str
    title: str = ""
    category: str | None = None


@dataclass(frozen=True, slots=True)
class RetrievedDocument:
    """A document as one source returned it.

    `score` and `rank` (1-based) are the source's testimony and decide nothing by themselves.
    """

    source_id: str
    doc_id: str
    text: str
    title: str = ""
    category: str | None = None
    score: float = 0.0
    rank: int = 1

    @property
    def key(self) -> DocumentKey:
        return DocumentKey(self.source_id, self.doc_id)


@dataclass(frozen=True, slots=True)
class SourceReply:
    """What a source answered to one request, bounds already checked."""

    source_id: str
    documents: tuple[RetrievedDocument, ...]
    milliseconds: float = 0.0


@dataclass(frozen=True, slots=True)
class SourceFailure:
    """Why a source gave nothing in a round.

    `kind` is a stable code: `unavailable`, `deadline`, `identity`, `oversized`, `malformed`,
    `refused`, `overloaded`, `internal` or `circuit_open` (not asked: it failed too often in a row);
    `detail` is one line for the operator's log.
    """

    source_id: str
    kind: str
    detail: str = ""


@dataclass(frozen=True, slots=True)
class Candidate:
    """One distinct text of a round with every source that returned it (Byzantine rule 4).

    `key` is the best-ranked holder; `holders` has one entry per source, `key` first. `similarity`
    is the aggregator's own cosine to the question in [-1,1], or None where it has no embedder.
    `weight` in [0,1] scales the document for readers that weigh (1 = full).
    """

    key: DocumentKey
    text: str
    title: str = ""
    category: str | None = None
    holders: tuple[DocumentKey, ...] = ()
    rank: int = 1
    similarity: float | None = None
    weight: float = 1.0

    @property
    def sources(self) -> tuple[str, ...]:
        """Ids of the sources that hold this text, each once."""
        return tuple(holder.source_id for holder in self.holders) or (self.key.source_id,)


@dataclass(frozen=True, slots=True)
class Query:
    """A question on its way through the system.

    `request_id` names the request on the wire, `user_id` is whoever asks (for trust), `round` counts
    the aggregator's rounds from 0.
    """

    text: str
    request_id: str = ""
    user_id: str = ""
    round: int = 0
    extra: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class PrivacyRequest:
    """What a caller asks of a source's privacy mechanism: its name and ε > 0."""

    mechanism: str
    epsilon: float


@dataclass(frozen=True, slots=True)
class NodeDescription:
    """What a source node says about itself: testimony, like all that it sends."""

    source_id: str
    n_documents: int
    retriever: str
    embedder: str = ""
    max_top_k: int = 50
    privacy_mechanisms: tuple[str, ...] = ()
