"""What the aggregator returns: an answer or a verification, with everything that led to it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from core.pipeline import StageRecord
from core.records import Candidate, DocumentKey, Query, SourceFailure


@dataclass(frozen=True)
class JudgedDocument:
    """A candidate of the round and what became of it.

    `credibility` is the lowest that any stage gave, None where none scored it. `reason` is the code
    of the stage that dropped it, else of the last stage with an opinion.
    """

    candidate: Candidate
    kept: bool
    credibility: float | None = None
    reason: str = ""

    @property
    def key(self) -> DocumentKey:
        return self.candidate.key


@dataclass(frozen=True)
class Verification:
    """Documents judged, in the aggregator's own order.

    `members` leads from every document that came in, copies included, to the candidate that stands
    for it. `reliability_before` and `reliability_after` map source id to [0,1]; `latencies` maps
    step to milliseconds. `refused` where a required stage failed: then nothing is kept.
    """

    query: Query
    documents: tuple[JudgedDocument, ...] = ()
    stages: tuple[StageRecord, ...] = ()
    members: Mapping[DocumentKey, DocumentKey] = field(default_factory=dict)
    warnings: tuple[str, ...] = ()
    reliability_before: Mapping[str, float] = field(default_factory=dict)
    reliability_after: Mapping[str, float] = field(default_factory=dict)
    latencies: Mapping[str, float] = field(default_factory=dict)
    refused: bool = False

    @property
    def kept(self) -> tuple[JudgedDocument, ...]:
        """The documents that survived every stage."""
        return tuple(document for document in self.documents if document.kept)


@dataclass(frozen=True)
class Answer(Verification):
    """A verification with the answer read from what survived.

    `text` is a refusal sentence where `refused`, and empty where the reader `abstained`. `read` holds
    the documents that the reader saw. `latencies` has the keys guard, fan_out, fuse, verify (the
    stages that keep the reputation), stages (all others), read, audit and total, and plan where defenses
    are orchestrated. `orchestration` holds then both passes of the control plane as plain JSON: signals,
    risk, plan and its reasons; it is empty otherwise.
    """

    text: str = ""
    reader: str = ""
    simulated: bool = False
    abstained: bool = False
    failures: tuple[SourceFailure, ...] = ()
    read: tuple[DocumentKey, ...] = ()
    llm_calls: int = 0
    scores: tuple[float, ...] = ()
    orchestration: Mapping[str, Any] = field(default_factory=dict)
