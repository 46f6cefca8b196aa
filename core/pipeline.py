"""Runs document stages in order and enforces the stage contract after each of them."""

from __future__ import annotations

import math
import time
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace

from core.errors import ContractError, StageError
from core.records import Candidate
from core.seeding import derive_seed
from core.stage import DocumentStage, Hook, StageInput, StageResult, abstain
from core.verdict import Action, Verdict


@dataclass(frozen=True)
class PipelineStage:
    """A stage in its place; `required` makes its failure refuse the question (fail closed)."""

    stage: DocumentStage
    hook: Hook = Hook.POST_RETRIEVAL
    required: bool = False


@dataclass(frozen=True)
class StageRecord:
    """What one stage did in one round; `error` is None unless it raised and failed open."""

    stage: str
    hook: Hook
    verdicts: tuple[Verdict, ...]
    milliseconds: float
    error: str | None = None
    notes: dict[str, float] = field(default_factory=dict)

    @property
    def llm_failures(self) -> int:
        """Calls of a language model that failed inside the stage: its notes named `..._failures`."""
        return int(sum(n for name, n in self.notes.items() if name.endswith("_failures")))


@dataclass(frozen=True)
class PipelineResult:
    """Documents that survived every stage, and the record of each stage in order."""

    documents: tuple[Candidate, ...]
    trail: tuple[StageRecord, ...]


class Pipeline:
    """An ordered list of document stages with one contract (`core.stage`)."""

    def __init__(self, stages: Iterable[PipelineStage | DocumentStage] = ()) -> None:
        self.stages: tuple[PipelineStage, ...] = tuple(
            stage if isinstance(stage, PipelineStage) else PipelineStage(stage) for stage in stages
        )

    def __repr__(self) -> str:
        return f"Pipeline({' -> '.join(s.stage.name for s in self.stages) or 'empty'})"

    def run(self, given: StageInput, hook: Hook | None = None) -> PipelineResult:
        """Run the stages of `hook` (all where None) over `given`.

        Raises:
            StageError: a required stage raised.
            ContractError: a stage broke the contract; this is a bug in that stage.
        """
        trail: list[StageRecord] = []
        for place in self.stages:
            if hook is not None and place.hook is not hook:
                continue
            given = replace(given, seed=derive_seed(given.seed, place.stage.name))
            start = time.perf_counter()
            error = None
            try:
                result = place.stage.run(given)
            except Exception as exception:  # a plug-in may raise anything: the trail must show it
                if place.required:
                    raise StageError(place.stage.name, str(exception)) from exception
                error = f"{type(exception).__name__}: {exception}"
                result = abstain(given, "stage_error")
            else:
                check_contract(place.stage.name, given.documents, result)
            elapsed = 1000 * (time.perf_counter() - start)
            trail.append(
                StageRecord(
                    place.stage.name, place.hook, tuple(result.verdicts), elapsed, error, dict(result.notes)
                )
            )
            given = narrow(given, tuple(result.documents))
        return PipelineResult(given.documents, tuple(trail))


def check_contract(name: str, given: Sequence[Candidate], result: StageResult) -> None:
    """Raise `ContractError` unless `result` obeys rules 1 to 4 of `core.stage` for input `given`."""
    if not isinstance(result, StageResult):
        raise ContractError(name, f"returned {type(result).__name__}, not a StageResult")
    before = {document.key: document for document in given}
    verdicts = {verdict.key: verdict for verdict in result.verdicts}
    if len(verdicts) != len(result.verdicts):
        raise ContractError(name, "two verdicts for one document")
    if verdicts.keys() != before.keys():
        odd = sorted(map(str, verdicts.keys() ^ before.keys()))[0]
        raise ContractError(name, f"needs exactly one verdict per document, see {odd}")
    for verdict in result.verdicts:
        score = verdict.credibility
        if score is not None and not (math.isfinite(score) and 0.0 <= score <= 1.0):
            raise ContractError(name, f"credibility {score} of {verdict.key} is outside [0,1]")
    after = {document.key: document for document in result.documents}
    if len(after) != len(result.documents):
        raise ContractError(name, "a document came out twice")
    expected = {key for key, verdict in verdicts.items() if verdict.action is not Action.DROP}
    if after.keys() != expected:
        odd = sorted(map(str, after.keys() ^ expected))[0]
        raise ContractError(name, f"documents out must be documents in minus DROP, see {odd}")
    for key, document in after.items():
        action, old = verdicts[key].action, before[key]
        if document.text != old.text and action is not Action.REWRITE:
            raise ContractError(name, f"changed the text of {key} under {action}")
        if document.weight != old.weight and action is not Action.DOWNWEIGHT:
            raise ContractError(name, f"changed the weight of {key} under {action}")
        if not (math.isfinite(document.weight) and 0.0 <= document.weight <= 1.0):
            raise ContractError(name, f"weight {document.weight} of {key} is outside [0,1]")
        same = replace(document, text=old.text, weight=old.weight)
        if same != old:
            raise ContractError(name, f"changed {key} beyond text and weight")


def narrow(given: StageInput, documents: tuple[Candidate, ...]) -> StageInput:
    """`given` for the next stage: survivors only, their vectors with them.

    A rewritten text keeps no vector of the old one: vectors are dropped then, and the next stage
    that needs them embeds again.
    """
    if documents == given.documents:
        return given
    old = {document.key: i for i, document in enumerate(given.documents)}
    vectors = given.vectors
    if vectors is not None:
        rows = [old[document.key] for document in documents]
        rewritten = any(given.documents[i].text != d.text for i, d in zip(rows, documents, strict=True))
        vectors = None if rewritten else vectors[rows]
    return replace(given, documents=documents, vectors=vectors)
