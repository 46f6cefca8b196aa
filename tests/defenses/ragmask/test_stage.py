from __future__ import annotations

import numpy as np
import pytest

from core.embedding.hashing import HashingEmbedder
from core.errors import ConfigError
from core.pipeline import check_contract
from core.records import Candidate, DocumentKey, Query
from core.stage import Resources, StageInput
from core.verdict import Action
from defenses.ragmask.stage import RagMaskStage

EMBEDDER = HashingEmbedder(2048)
RESOURCES = Resources(embedder=EMBEDDER)
QUESTION = "capital of france"
FOREIGN = "rain fell on the harbour while ships waited for the tide to turn again that night"


def given(*texts: str, question: str = QUESTION) -> StageInput:
    documents = tuple(Candidate(DocumentKey("s", str(i)), text) for i, text in enumerate(texts))
    return StageInput(Query(question), documents)


def run(stage: RagMaskStage, asked: StageInput):
    result = stage.run(asked)
    check_contract(stage.name, asked.documents, result)
    return result, [verdict.reason for verdict in result.verdicts]


def test_a_planted_question_is_cut_and_the_verdict_says_where() -> None:
    asked = given(f"{QUESTION} {FOREIGN}", FOREIGN)
    result, reasons = run(RagMaskStage({"segment": 3, "delta": 0.05}, RESOURCES), asked)
    assert reasons == ["masked", "passed"]
    (rewritten,) = [d for d in result.documents if d.key.doc_id == "0"]
    assert rewritten.text == FOREIGN
    verdict = result.verdicts[0]
    assert verdict.action is Action.REWRITE
    start, end = (int(verdict.evidence[f"cut_0_{side}"]) for side in ("start", "end"))
    assert asked.documents[0].text[start:end] == QUESTION
    assert verdict.evidence["after"] < verdict.evidence["before"]
    assert verdict.credibility == pytest.approx(
        max(0.0, verdict.evidence["after"] / verdict.evidence["before"])
    )


def test_ranked_again_examined_and_dropped() -> None:
    asked = given(
        f"{QUESTION} {FOREIGN}",
        "paris capital of france " * 4,
        "the capital france has is paris and paris is the capital that france has",
        FOREIGN,
    )
    stage = RagMaskStage({"segment": 3, "delta": 0.05, "keep": 1, "alpha": 3.0}, RESOURCES)
    result, reasons = run(stage, asked)
    assert reasons[3] == "not_examined"
    assert reasons[0] == "outranked"
    assert len(result.documents) == 1


def test_without_rewriting_only_the_order_is_used() -> None:
    asked = given(f"{QUESTION} {FOREIGN}", FOREIGN)
    result, reasons = run(RagMaskStage({"segment": 3, "delta": 0.05, "rewrite": False}, RESOURCES), asked)
    assert reasons == ["passed", "passed"]
    assert {d.text for d in result.documents} == {d.text for d in asked.documents}


def test_short_and_emptied_documents() -> None:
    asked = given("paris", "capital france capital france capital france")
    result, reasons = run(RagMaskStage({"segment": 2, "delta": 0.0}, RESOURCES), asked)
    assert reasons == ["single_segment", "all_masked"]
    assert [d.text for d in result.documents] == ["paris"]
    assert result.verdicts[0].action is Action.ABSTAIN


def test_no_documents_and_given_vectors() -> None:
    stage = RagMaskStage({}, RESOURCES)
    assert stage.run(given()).verdicts == ()
    asked = given(FOREIGN, QUESTION)
    vectors = EMBEDDER.embed([d.text for d in asked.documents])
    with_vectors = StageInput(
        asked.query, asked.documents, np.asarray(vectors), EMBEDDER.embed([QUESTION])[0]
    )
    assert stage.run(asked) == stage.run(with_vectors)


@pytest.mark.parametrize(
    ("config", "resources", "words"),
    [
        ({"delta": -1.0}, RESOURCES, "delta"),
        ({"alpha": 0.5}, RESOURCES, "alpha"),
        ({"segmnt": 3}, RESOURCES, "unknown key 'segmnt'"),
        ({"mode": "fast"}, RESOURCES, "mode 'exact'"),
        ({}, Resources(), "needs an embedder"),
    ],
)
def test_mistakes_are_named(config, resources, words: str) -> None:
    with pytest.raises(ConfigError, match=words):
        RagMaskStage(config, resources)
