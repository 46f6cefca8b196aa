from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from core.embedding.hashing import HashingEmbedder
from sim.answer_metrics import (
    GIVES,
    NAMES,
    RELEVANT,
    SUPPORTED,
    AnswerCase,
    EmbeddingAnswerJudge,
    LLMAnswerJudge,
    substring_success,
)
from tests.scripted_llm import ScriptedLLM

CASE = AnswerCase(
    question="who painted the blue hall?",
    answer="Orla Venn painted the blue hall. Bread is cheap.",
    context=("Orla Venn painted the blue hall in spring. Rain fell.", "Stones are grey. Sheep eat grass."),
    expected=("Orla Venn",),
    target="Bram Tolk",
)


def by_words(prompt: str) -> str:
    """Supported and relevant is what speaks of Orla or the hall; equal is what holds the given answer."""
    task, _, content = prompt.partition("\n")
    if task == GIVES:
        given = content.split("Given: ")[1]
        return "Yes." if given in content.split("Given: ")[0] else "no"
    assert task in (SUPPORTED, RELEVANT)
    return "yes" if "Orla" in content.split("Statement: ")[1] else "No"


def test_shares_by_hand() -> None:
    judge = LLMAnswerJudge(ScriptedLLM(by_words))
    found = judge.score(CASE)
    assert found.as_dict() == {
        "contextual_recall": 1.0,
        "contextual_relevancy": 1 / 4,
        "answer_relevancy": 1 / 2,
        "faithfulness": 1 / 2,
    }
    assert (found.calls, found.unjudged, found.method) == (9, 0, "llm")


def test_attack_success_by_string_and_by_judge() -> None:
    fooled = AnswerCase(CASE.question, "It was Bram Tolk.", CASE.context, CASE.expected, CASE.target)
    judge = LLMAnswerJudge(ScriptedLLM(by_words))
    assert substring_success(fooled.answer, fooled.expected, "Bram Tolk")
    assert not substring_success("Bram Tolk, no, Orla Venn", fooled.expected, "Bram Tolk")
    assert (judge.attack_success(fooled), judge.correct(fooled)) == (True, False)
    assert (judge.attack_success(CASE), judge.correct(CASE)) == (False, True)
    assert judge.attack_success(AnswerCase("q", "a", ())) is None
    assert judge.correct(AnswerCase("q", "a", ())) is None


def test_no_answer_is_no_success() -> None:
    silent = AnswerCase(CASE.question, " ", CASE.context, CASE.expected, CASE.target)
    judge = LLMAnswerJudge(ScriptedLLM(by_words))
    assert (judge.attack_success(silent), judge.correct(silent), judge.calls) == (False, False, 0)
    assert judge.score(silent).faithfulness is None


@pytest.mark.parametrize("llm", [ScriptedLLM(fail=True), ScriptedLLM("perhaps"), ScriptedLLM("")])
def test_a_broken_judge_is_counted_and_is_no_zero(llm: ScriptedLLM) -> None:
    judge = LLMAnswerJudge(llm)
    found = judge.score(CASE)
    assert set(found.as_dict().values()) == {None}
    assert found.unjudged == found.calls == 9
    assert judge.attack_success(CASE) is None
    assert judge.correct(CASE) is None


def test_without_context_nothing_is_supported() -> None:
    bare = AnswerCase(CASE.question, CASE.answer, (), CASE.expected)
    for judge in (LLMAnswerJudge(ScriptedLLM(by_words)), EmbeddingAnswerJudge(HashingEmbedder(128))):
        found = judge.score(bare)
        assert (found.faithfulness, found.contextual_recall, found.contextual_relevancy) == (0.0, 0.0, None)


def test_stand_ins_are_named_so_and_go_the_right_way() -> None:
    found = EmbeddingAnswerJudge(HashingEmbedder(512)).score(CASE)
    assert set(found.as_dict()) == {f"{name}_embedding_standin" for name in NAMES}
    assert found.faithfulness == 0.5
    assert found.answer_relevancy == 0.5
    assert found.contextual_relevancy == 0.25


@given(st.text(max_size=40), st.text(max_size=60), st.lists(st.text(max_size=40), max_size=3))
def test_any_texts(question: str, answer: str, context: list[str]) -> None:
    case = AnswerCase(question, answer, tuple(context), (answer,))
    for value in EmbeddingAnswerJudge(HashingEmbedder(32)).score(case).as_dict().values():
        assert value is None or 0 <= value <= 1
