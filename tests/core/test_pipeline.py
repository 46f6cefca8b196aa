"""Random stages through the pipeline: whatever obeys the contract passes, every breach is named."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from core.errors import ContractError, StageError
from core.pipeline import Pipeline, PipelineStage
from core.records import Candidate, DocumentKey, Query
from core.stage import Hook, StageInput, StageResult, abstain, keep_where
from core.verdict import Action, Verdict

ACTIONS = list(Action)


def make_input(n: int, seed: int = 0, dimension: int = 4) -> StageInput:
    rng = np.random.default_rng(n)
    return StageInput(
        Query("question"),
        tuple(Candidate(DocumentKey(f"s{i % 3}", f"d{i}"), f"text {i}", rank=i + 1) for i in range(n)),
        rng.normal(size=(n, dimension)).astype(np.float32),
        rng.normal(size=dimension).astype(np.float32),
        {"s0": 0.5},
        seed,
    )


@dataclass
class RandomStage:
    """Obeys the contract: a random lawful action for each document, output order shuffled."""

    name: str = "random"

    def run(self, given: StageInput) -> StageResult:
        rng = np.random.default_rng(given.seed)
        out, verdicts = [], []
        for document in given.documents:
            action = ACTIONS[rng.integers(len(ACTIONS))]
            score = None if action is Action.ABSTAIN else float(rng.random())
            verdicts.append(Verdict(document.key, action, score, action.value))
            if action is Action.REWRITE:
                document = replace(document, text=document.text + "!")
            elif action is Action.DOWNWEIGHT:
                document = replace(document, weight=float(rng.random()))
            if action is not Action.DROP:
                out.append(document)
        order = rng.permutation(len(out))
        return StageResult(tuple(out[i] for i in order), tuple(verdicts), {"n": float(len(out))})


class Checking:
    """Sees what the previous stage left: vectors must be those of the documents."""

    name = "checking"

    def __init__(self, original: StageInput) -> None:
        assert original.vectors is not None
        self.rows = {d.key: (d.text, v) for d, v in zip(original.documents, original.vectors, strict=True)}

    def run(self, given: StageInput) -> StageResult:
        rewritten = any(d.text != self.rows[d.key][0] for d in given.documents)
        if given.vectors is None:
            assert rewritten
        else:
            assert given.vectors.shape == (len(given.documents), 4)
            for document, vector in zip(given.documents, given.vectors, strict=True):
                assert np.array_equal(vector, self.rows[document.key][1])
        return abstain(given, "looked")


class Raising:
    name = "raising"

    def run(self, given: StageInput) -> StageResult:
        raise ValueError("boom")


@dataclass
class Calling:
    function: Callable[[StageInput], StageResult]
    name: str = "calling"

    def run(self, given: StageInput) -> StageResult:
        return self.function(given)


@given(st.integers(0, 8), st.integers(0, 1000), st.integers(1, 4))
def test_lawful_stages_pass_and_repeat(n: int, seed: int, depth: int) -> None:
    start = make_input(n, seed)
    pipeline = Pipeline([RandomStage(f"stage{i}") for i in range(depth)])
    first, again = pipeline.run(start), pipeline.run(start)
    assert first.documents == again.documents
    assert [r.verdicts for r in first.trail] == [r.verdicts for r in again.trail]
    alive = {d.key for d in start.documents}
    for record in first.trail:
        assert record.error is None
        assert {v.key for v in record.verdicts} == alive
        alive -= {v.key for v in record.verdicts if v.action is Action.DROP}
        assert record.notes == {"n": len(alive)}
    assert {d.key for d in first.documents} == alive


@given(st.integers(1, 8), st.integers(0, 1000))
def test_vectors_follow_their_documents(n: int, seed: int) -> None:
    start = make_input(n, seed)
    result = Pipeline([RandomStage(), PipelineStage(Checking(start), required=True)]).run(start)
    assert result.trail[1].error is None


def test_each_stage_draws_from_its_own_stream() -> None:
    seeds: list[int] = []

    def note(given: StageInput) -> StageResult:
        seeds.append(given.seed)
        return abstain(given, "noted")

    Pipeline([Calling(note), Calling(note), Calling(note, "other")]).run(make_input(2))
    assert len(set(seeds)) == 3


def _verdicts(given: StageInput) -> list[Verdict]:
    return [Verdict(d.key, Action.KEEP, 0.5) for d in given.documents]


def _breach(edit: Callable[[list[Candidate], list[Verdict]], None]) -> Callable[[StageInput], StageResult]:
    def run(given: StageInput) -> StageResult:
        documents, verdicts = list(given.documents), _verdicts(given)
        edit(documents, verdicts)
        return StageResult(tuple(documents), tuple(verdicts))

    return run


def _set(index: int, **changes: object) -> Callable[[list[Candidate], list[Verdict]], None]:
    def edit(documents: list[Candidate], verdicts: list[Verdict]) -> None:
        documents[index] = replace(documents[index], **changes)  # type: ignore[arg-type]

    return edit


def _judge(index: int, **changes: object) -> Callable[[list[Candidate], list[Verdict]], None]:
    def edit(documents: list[Candidate], verdicts: list[Verdict]) -> None:
        verdicts[index] = replace(verdicts[index], **changes)  # type: ignore[arg-type]

    return edit


BREACHES: dict[str, tuple[Callable[[list[Candidate], list[Verdict]], None], str]] = {
    "missing verdict": (lambda d, v: v.pop() and None, "exactly one verdict per document"),
    "verdict for a stranger": (_judge(0, key=DocumentKey("x", "y")), "exactly one verdict per document"),
    "two verdicts": (lambda d, v: v.append(v[0]), "two verdicts for one document"),
    "silent drop": (lambda d, v: d.pop() and None, "documents in minus DROP"),
    "dropped yet out": (_judge(1, action=Action.DROP), "documents in minus DROP"),
    "a document twice": (lambda d, v: d.append(d[0]), "came out twice"),
    "an invented document": (
        lambda d, v: d.append(Candidate(DocumentKey("x", "y"), "t")),
        "documents in minus DROP",
    ),
    "text under keep": (_set(0, text="other"), "changed the text of s0/d0 under keep"),
    "weight under keep": (_set(0, weight=0.5), "changed the weight of s0/d0 under keep"),
    "rank": (_set(1, rank=9), "changed s1/d1 beyond text and weight"),
    "holders": (_set(1, holders=(DocumentKey("z", "z"),)), "changed s1/d1 beyond text and weight"),
    "credibility above 1": (_judge(0, credibility=1.01), "credibility 1.01 of s0/d0"),
    "credibility below 0": (_judge(0, credibility=-0.01), "is outside"),
    "credibility nan": (_judge(0, credibility=float("nan")), "credibility nan"),
    "credibility infinite": (_judge(0, credibility=float("inf")), "credibility inf"),
}


@pytest.mark.parametrize("name", BREACHES)
@pytest.mark.parametrize("required", [False, True])
def test_a_breach_is_named(name: str, required: bool) -> None:
    edit, message = BREACHES[name]
    pipeline = Pipeline([PipelineStage(Calling(_breach(edit)), required=required)])
    with pytest.raises(ContractError, match=r"stage 'calling' broke its contract") as caught:
        pipeline.run(make_input(3))
    assert message in str(caught.value)
    assert caught.value.stage == "calling"


@pytest.mark.parametrize("weight", [1.5, -0.1, float("nan")])
def test_a_weight_outside_0_1_is_a_breach(weight: float) -> None:
    def run(given: StageInput) -> StageResult:
        verdicts = [replace(v, action=Action.DOWNWEIGHT) for v in _verdicts(given)]
        return StageResult(tuple(replace(d, weight=weight) for d in given.documents), tuple(verdicts))

    with pytest.raises(ContractError, match=r"weight .* is outside"):
        Pipeline([Calling(run)]).run(make_input(1))


def test_a_result_of_another_type_is_a_breach() -> None:
    with pytest.raises(ContractError, match="returned NoneType, not a StageResult"):
        Pipeline([Calling(lambda given: None)]).run(make_input(1))  # type: ignore[arg-type, return-value]


def test_lists_are_taken_as_tuples() -> None:
    def run(given: StageInput) -> StageResult:
        return StageResult(list(given.documents), _verdicts(given))  # type: ignore[arg-type]

    start = make_input(2)
    result = Pipeline([Calling(run), Checking(start)]).run(start)
    assert result.documents == start.documents
    assert result.trail[1].error is None


def test_a_raising_stage_fails_open_and_shows() -> None:
    start = make_input(3)
    result = Pipeline([Raising(), RandomStage()]).run(start)
    assert result.trail[0].error == "ValueError: boom"
    assert {v.action for v in result.trail[0].verdicts} == {Action.ABSTAIN}
    assert len(result.trail[1].verdicts) == 3


def test_a_required_stage_fails_closed() -> None:
    with pytest.raises(StageError, match="stage 'raising' failed: boom") as caught:
        Pipeline([PipelineStage(Raising(), required=True)]).run(make_input(1))
    assert isinstance(caught.value.__cause__, ValueError)


def test_a_keyboard_interrupt_is_not_swallowed() -> None:
    def run(given: StageInput) -> StageResult:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        Pipeline([Calling(run)]).run(make_input(1))


def test_hooks_choose_stages() -> None:
    drop = Calling(lambda given: keep_where(given, [False] * len(given.documents), "gone"), "drop")
    pipeline = Pipeline([RandomStage(), PipelineStage(drop, Hook.PRE_GENERATION)])
    start = make_input(2)
    assert [r.stage for r in pipeline.run(start, Hook.POST_RETRIEVAL).trail] == ["random"]
    late = pipeline.run(start, Hook.PRE_GENERATION)
    assert [r.hook for r in late.trail] == [Hook.PRE_GENERATION]
    assert late.documents == ()
    assert [r.stage for r in pipeline.run(start).trail] == ["random", "drop"]


def test_an_empty_pipeline_changes_nothing_and_describes_itself() -> None:
    start = make_input(2)
    result = Pipeline().run(start)
    assert result.documents == start.documents
    assert result.trail == ()
    assert repr(Pipeline()) == "Pipeline(empty)"
    assert repr(Pipeline([RandomStage("a"), Raising()])) == "Pipeline(a -> raising)"
