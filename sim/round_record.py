"""One round of an experiment as it stands in rounds.jsonl."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import lru_cache
from typing import ClassVar, Literal

from pydantic import ConfigDict, TypeAdapter, ValidationError

from core.errors import DataError

_STRICT = ConfigDict(extra="forbid", allow_inf_nan=False)
Label = Literal["benign", "malicious", "neutral"]


@dataclass(frozen=True, slots=True)
class StageVerdict:
    """One stage's conclusion about one document; `evidence` values that are not finite are null."""

    stage: str
    action: str
    credibility: float | None = None
    reason: str = ""
    evidence: Mapping[str, float | None] = field(default_factory=dict)
    __pydantic_config__: ClassVar[ConfigDict] = _STRICT


@dataclass(frozen=True, slots=True)
class ReturnedDocument:
    """One document of one source in a round, before dedupe.

    `rank` is the aggregator's order (1-based, shared by equal texts), `read` the position among the
    documents handed to the reader (None: not handed), `gold` whether it answers the question
    according to qrels. `credibility` is the last score that a stage gave it.
    """

    source_id: str
    doc_id: str
    text_hash: str
    label: Label
    kept: bool
    rank: int
    similarity: float | None = None
    credibility: float | None = None
    read: int | None = None
    gold: bool = False
    verdicts: tuple[StageVerdict, ...] = ()
    __pydantic_config__: ClassVar[ConfigDict] = _STRICT


@dataclass(frozen=True, slots=True)
class Failure:
    """A source that gave nothing in a round; `kind` is a code of `core.records.SourceFailure`."""

    source_id: str
    kind: str
    __pydantic_config__: ClassVar[ConfigDict] = _STRICT


@dataclass(frozen=True, slots=True)
class ProbeRecord:
    """One query of the attacker (also a harmless one) and what it got.

    `privacy`: the mechanism that the sources were asked for, "" for none. `withheld`: documents hidden
    because the query quotes them. `span`: longest run of words that the answer shares with a document.
    """

    kind: str
    query: str
    refused: bool
    privacy: str
    withheld: int
    masked: bool
    span: int
    trust: float | None
    __pydantic_config__: ClassVar[ConfigDict] = _STRICT


@dataclass(frozen=True, slots=True)
class RoundRecord:
    """Everything that one question of one trial came to, for one arm.

    `plan` explains the defenses chosen in each pass where they are orchestrated; `probes` are the queries
    of an attacker among the users since the round before, and `trust` what is thought of the users then.
    `relations` are the edges that a verifier saw between documents: two positions in `documents`, how much
    they agree and conflict, each in [0,1].
    `llm_failures`: calls of a language model that failed inside a stage, by stage.
    `n_gold` is the number of documents that qrels name for the question, None without qrels.
    `latency_ms` (fan_out, verify, stages, read, total) is all that may differ between two equal runs.
    """

    trial: int
    index: int
    request_id: str
    query_id: str
    query: str
    answers: tuple[str, ...]
    target: str | None
    attacked: bool
    malicious_sources: tuple[str, ...]
    documents: tuple[ReturnedDocument, ...]
    n_gold: int | None
    answer: str
    abstained: bool
    refused: bool
    correct: bool | None
    target_given: bool | None
    attack_success: bool | None
    failures: tuple[Failure, ...]
    stage_errors: Mapping[str, str]
    warnings: tuple[str, ...]
    reliability_before: Mapping[str, float]
    reliability_after: Mapping[str, float]
    latency_ms: Mapping[str, float | None]
    plan: tuple[str, ...] = ()
    probes: tuple[ProbeRecord, ...] = ()
    trust: Mapping[str, float] = field(default_factory=dict)
    relations: tuple[tuple[int, int, float, float], ...] = ()
    llm_failures: Mapping[str, int] = field(default_factory=dict)

    __pydantic_config__: ClassVar[ConfigDict] = _STRICT

    def to_line(self) -> str:
        """The record as one line of JSON, without its newline."""
        return _adapter().dump_json(self).decode("utf-8")

    @classmethod
    def from_line(cls, line: str, where: str) -> RoundRecord:
        """The record in `line`.

        Raises:
            DataError: `line` is not a record; `where` names file and line.
        """
        try:
            return _adapter().validate_json(line)
        except ValidationError as error:
            first = error.errors()[0]
            path = ".".join(map(str, first["loc"]))
            raise DataError(f"{where}: not a round of this version: {path} {first['msg']}") from None


@lru_cache(maxsize=1)
def _adapter() -> TypeAdapter[RoundRecord]:
    return TypeAdapter(RoundRecord)


def finite(value: float | None) -> float | None:
    """`value`, or None where it is missing, infinite or NaN."""
    return float(value) if value is not None and math.isfinite(value) else None
