"""The contract between the pipeline and the stages that judge a question's documents.

A stage is made once (`__init__` takes its strict config and its `Resources`) and run once a round.
It takes documents and returns documents with one verdict for each document that came in:

1. one verdict per input document, keyed by `Candidate.key`, no key twice;
2. documents out = documents in, in any order, minus those with `Action.DROP`;
3. a text changes only under `Action.REWRITE`, a weight only under `Action.DOWNWEIGHT`;
4. a credibility is None or finite in [0,1];
5. the same input and seed give the same result; a stage keeps no state across rounds except what
   it names in its docstring (a reputation, a cache).

`core.pipeline.Pipeline` enforces 1 to 4 after every stage. A stage that raises abstains for all
documents (fail open) unless it is configured `required` (fail closed). Stages must be importable
without heavy libraries; they import those when they are built.

Hooks follow ADO: `pre_retrieval` judges the query, `post_retrieval` and `pre_generation` judge
documents, `post_generation` judges the answer.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from typing import TYPE_CHECKING, Protocol, runtime_checkable

import numpy as np
from numpy.typing import NDArray

from core.records import Candidate, Query
from core.verdict import Action, Verdict

if TYPE_CHECKING:
    from core.embedding.base import Embedder
    from core.llm import LLM


class Hook(StrEnum):
    """Where in a question's journey a stage stands."""

    PRE_RETRIEVAL = "pre_retrieval"
    POST_RETRIEVAL = "post_retrieval"
    PRE_GENERATION = "pre_generation"
    POST_GENERATION = "post_generation"


@dataclass(frozen=True)
class Resources:
    """What a stage may be given at construction; None where the deployment has none."""

    embedder: Embedder | None = None
    llm: LLM | None = None
    seed: int = 0
    cache_dir: str | None = None


@dataclass(frozen=True)
class StageInput:
    """What a stage sees of one round.

    `vectors` is (n, d) float32, row i the unit vector of `documents[i]` embedded by the aggregator,
    and `query_vector` (d,); both None where the aggregator has no embedder. `reliability` maps
    source id to [0,1]. `seed` belongs to this round and stage: draw from a Generator made of it.
    """

    query: Query
    documents: tuple[Candidate, ...]
    vectors: NDArray[np.float32] | None = None
    query_vector: NDArray[np.float32] | None = None
    reliability: Mapping[str, float] = field(default_factory=dict)
    seed: int = 0


@dataclass(frozen=True)
class StageResult:
    """Documents that go on, and a verdict for each document that came in.

    `notes`: numbers of this round. What ends in `_failures` counts calls of a language model that failed,
    and is shown wherever the round is; `fallback` above 0: all were rejected and all stay.
    """

    documents: tuple[Candidate, ...]
    verdicts: tuple[Verdict, ...]
    notes: Mapping[str, float] = field(default_factory=dict)


@runtime_checkable
class DocumentStage(Protocol):
    """A stage at `post_retrieval` or `pre_generation`."""

    name: str

    def run(self, given: StageInput) -> StageResult: ...


@runtime_checkable
class SettlingStage(DocumentStage, Protocol):
    """A stage that chooses something of its own (a threshold) on rounds known to be clean."""

    def begin_warmup(self) -> None: ...

    def end_warmup(self) -> None: ...


@dataclass(frozen=True)
class QueryDecision:
    """What a query stage decided: go on with `query`, or refuse with a stable `reason`."""

    query: Query
    refused: bool = False
    reason: str = ""
    evidence: Mapping[str, float] = field(default_factory=dict)


@runtime_checkable
class QueryStage(Protocol):
    """A stage at `pre_retrieval`."""

    name: str

    def run(self, query: Query) -> QueryDecision: ...


@dataclass(frozen=True)
class AnswerDecision:
    """What an answer stage decided: the text to return and why."""

    text: str
    refused: bool = False
    reason: str = ""
    evidence: Mapping[str, float] = field(default_factory=dict)


@runtime_checkable
class AnswerStage(Protocol):
    """A stage at `post_generation`."""

    name: str

    def run(self, query: Query, answer: str, documents: Sequence[Candidate]) -> AnswerDecision: ...


def keep_where(
    given: StageInput,
    kept: Sequence[bool],
    reason: str,
    *,
    credibility: Sequence[float | None] | None = None,
    evidence: Sequence[Mapping[str, float]] | None = None,
) -> StageResult:
    """The result of a stage that keeps document i iff `kept[i]`, order preserved.

    `reason` is given to dropped documents; kept ones get the reason `passed`.
    """
    verdicts = tuple(
        Verdict(
            key=document.key,
            action=Action.KEEP if keep else Action.DROP,
            credibility=None if credibility is None else credibility[i],
            reason="passed" if keep else reason,
            evidence={} if evidence is None else evidence[i],
        )
        for i, (document, keep) in enumerate(zip(given.documents, kept, strict=True))
    )
    documents = tuple(d for d, keep in zip(given.documents, kept, strict=True) if keep)
    return StageResult(documents, verdicts)


def abstain(given: StageInput, reason: str) -> StageResult:
    """The result of a stage that could not judge: every document stays."""
    return StageResult(
        given.documents, tuple(Verdict(d.key, Action.ABSTAIN, None, reason) for d in given.documents)
    )
