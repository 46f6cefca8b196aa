"""Every defense in the registry keeps the stage contract on whatever documents come."""

from __future__ import annotations

import zlib
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from aggregator.config import StageSpec
from aggregator.reputation import Reputation
from aggregator.stages import STAGES, StageSet, build_stages
from core.embedding.cache import CachedEmbedder
from core.embedding.hashing import HashingEmbedder
from core.errors import ConfigError, StageError
from core.pipeline import Pipeline, PipelineResult, PipelineStage
from core.records import Candidate, DocumentKey, Query
from core.stage import AnswerDecision, QueryDecision, Resources, StageInput
from tests.contracts.texts import NASTY, PLAIN, QUESTION, any_texts
from tests.scripted_llm import ScriptedLLM

EMBEDDER = CachedEmbedder(HashingEmbedder(64))
NAMES = [name for name in STAGES.names() if name != "shouting"]  # a plug-in under test elsewhere


REPLIES = ("contradict", "compatible", "uncertain", "Paris in the blue hall", "I don't know", "", "{")


def reply(prompt: str) -> str:
    """Something different for most prompts, the same for the same one."""
    return REPLIES[zlib.crc32(prompt.encode("utf-8", "replace")) % len(REPLIES)]


NEEDED = {
    "ml_filterrag": {"forest": str(Path(__file__).with_name("forest.json"))}
}  # options without a default


def build(name: str, options: dict[str, Any] | None = None, llm: ScriptedLLM | None = None) -> StageSet:
    spec = StageSpec(name=name, required=True, options={**NEEDED.get(name, {}), **(options or {})})
    return build_stages([spec], Resources(embedder=EMBEDDER, llm=llm or ScriptedLLM(reply)), Reputation())


def a_round(texts: list[str], sources: list[int], *, vectors: bool, seed: int = 0) -> StageInput:
    embedded = EMBEDDER.embed(texts)
    question = EMBEDDER.embed([QUESTION])[0]
    keys = [DocumentKey(f"s{source}", f"d{i}") for i, source in enumerate(sources)]
    documents = tuple(
        Candidate(
            key,
            text,
            title=f"Title {i}" if i % 2 else "",
            holders=(key, DocumentKey("s9", f"d{i}")) if i % 3 == 0 else (key,),
            rank=i + 1,
            similarity=float(embedded[i] @ question) if vectors else None,
        )
        for i, (key, text) in enumerate(zip(keys, texts, strict=True))
    )
    reliability = {source: 0.5 for document in documents for source in document.sources}
    return StageInput(
        Query(QUESTION, "r1"),
        documents,
        embedded if vectors else None,
        question if vectors else None,
        reliability,
        seed,
    )


def judge(name: str, start: StageInput) -> PipelineResult:
    """One round through a freshly made stage; a raise or a breach is an error with the stage's name."""
    return Pipeline([PipelineStage(p.stage, p.hook, True) for p in build(name).pipeline.stages]).run(start)


@pytest.mark.parametrize("name", NAMES)
@settings(max_examples=12, suppress_health_check=[HealthCheck.too_slow])
@given(texts=any_texts, vectors=st.booleans(), seed=st.integers(0, 3), data=st.data())
def test_a_round_of_any_texts(
    name: str, texts: list[str], vectors: bool, seed: int, data: st.DataObject
) -> None:
    sources = data.draw(st.lists(st.integers(0, 3), min_size=len(texts), max_size=len(texts)))
    start = a_round(texts, sources, vectors=vectors, seed=seed)
    first, again = judge(name, start), judge(name, start)
    assert first.documents == again.documents
    assert [record.verdicts for record in first.trail] == [record.verdicts for record in again.trail]


@pytest.mark.parametrize("name", NAMES)
def test_ordinary_and_nasty_texts_together(name: str) -> None:
    texts = [*PLAIN, *NASTY]
    start = a_round(texts, [i % 4 for i in range(len(texts))], vectors=True)
    before = [(d.key, d.text) for d in start.documents]
    rows = None if start.vectors is None else start.vectors.copy()
    result = judge(name, start)
    assert [(d.key, d.text) for d in start.documents] == before
    assert rows is not None
    assert np.array_equal(rows, start.vectors)
    for record in result.trail:
        assert all(verdict.reason for verdict in record.verdicts)
        for verdict in record.verdicts:
            assert all(np.isfinite(value) for value in verdict.evidence.values())


@pytest.mark.parametrize("name", NAMES)
def test_query_and_answer_stages_decide(name: str) -> None:
    built = build(name)
    start = a_round(list(PLAIN), [0, 1, 2, 3, 0, 1], vectors=True)
    for text in (QUESTION, *NASTY):
        for guard in built.guards:
            assert isinstance(guard.stage.run(Query(text)), QueryDecision)
        for auditor in built.auditors:
            assert isinstance(auditor.stage.run(Query(QUESTION), text, start.documents), AnswerDecision)
    assert len(built.guards) + len(built.auditors) + len(built.pipeline.stages) == 1


@pytest.mark.parametrize("name", NAMES)
def test_an_unknown_option_is_refused_by_name(name: str) -> None:
    build(name)
    with pytest.raises(ConfigError, match=r"unknown key 'no_such_option'"):
        build(name, {"no_such_option": 1})


@pytest.mark.parametrize("name", NAMES)
def test_a_stage_is_called_what_the_registry_calls_it(name: str) -> None:
    built = build(name)
    stages = [*built.guards, *built.auditors, *built.pipeline.stages]
    assert [place.stage.name for place in stages] == [name]


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize(
    "texts", [[], ["one document alone"], ["the same", "the same", "the same", "the same"]]
)
def test_no_document_one_document_and_duplicates(name: str, texts: list[str]) -> None:
    result = judge(name, a_round(texts, list(range(len(texts))), vectors=bool(texts)))
    for record in result.trail:
        assert len(record.verdicts) == len(texts)


@pytest.mark.parametrize("name", NAMES)
def test_without_a_language_model_a_stage_works_or_says_so(name: str) -> None:
    spec = StageSpec(name=name, required=True)
    try:
        built = build_stages([spec], Resources(embedder=EMBEDDER), Reputation())
    except ConfigError as error:
        problem = str(error)
    else:
        problem = ""
        start = a_round(list(PLAIN), [0, 1, 2, 3, 0, 1], vectors=True)
        Pipeline([PipelineStage(p.stage, p.hook, True) for p in built.pipeline.stages]).run(start)
    assert not problem or "needs a language model and none is configured" in problem


@pytest.mark.parametrize("name", NAMES)
def test_a_failing_language_model_fails_the_stage_or_counts(name: str) -> None:
    start = a_round(list(PLAIN), [0, 1, 2, 3, 0, 1], vectors=True)
    built = build(name, llm=ScriptedLLM(fail=True))
    stages = [PipelineStage(p.stage, p.hook, True) for p in built.pipeline.stages]
    problem = "scripted failure"
    try:
        Pipeline(stages).run(start)
    except StageError as error:
        problem = str(error)
    assert "scripted failure" in problem
