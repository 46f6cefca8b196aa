from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from core.text import contains_answer
from sim.attacks.answers import AnswerIndex, asks_for, shape
from sim.corpora.records import Question

QUESTIONS = (
    Question("a", "Who wrote it?", ("Anna Berg",)),
    Question("b", "Who sang it?", ("Carl Dunn", "C. Dunn")),
    Question("c", "How many were there?", ("30",)),
    Question("d", "How many came?", ("45",)),
    Question("e", "When was it?", ("May 5, 1990",)),
    Question("f", "When was that?", ("1998",)),
    Question("g", "Is it safe?", ("yes",)),
    Question(
        "h", "What causes Alpha disease?", ("Alpha disease is caused by a change in one gene of the liver.",)
    ),
    Question(
        "i",
        "What causes Beta disease?",
        ("Too much sunlight is behind most cases of Beta disease in adults.",),
    ),
    Question("j", "What is the colour of the old harbour?", ("deep red",)),
)


@pytest.mark.parametrize(
    ("answer", "kind"),
    [
        ("Yes", "flip"), ("no.", "flip"), ("maybe", "flip"), ("1990", "date"), ("May 5, 1990", "date"),
        ("12 mg", "number"), ("1,200", "number"), ("Anna Berg", "name"), ("deep red", "phrase"),
        ("It is caused by a change in one gene.", "sentence"),
    ],
)  # fmt: skip
def test_shapes(answer: str, kind: str) -> None:
    assert shape(answer) == kind


def test_what_is_asked_for() -> None:
    assert asks_for("In which year, and how many?") == "which"
    assert asks_for("How many were there?") == "how many"
    assert asks_for("Is it so?") == "whether"


@given(st.sampled_from(QUESTIONS), st.integers(0, 2**32))
def test_a_wrong_answer_is_wrong_and_of_the_same_shape(question: Question, seed: int) -> None:
    index = AnswerIndex(QUESTIONS)
    wrong = index.wrong_answer(question, np.random.default_rng(seed))
    assert wrong == index.wrong_answer(question, np.random.default_rng(seed))
    assert not any(contains_answer(wrong, right) for right in question.answers) or wrong.startswith("not ")
    assert shape(wrong) == shape(question.answers[0]) or wrong.startswith("not ")


def test_yes_is_flipped_with_its_case() -> None:
    index, rng = AnswerIndex(()), np.random.default_rng(0)
    assert index.wrong_answer(Question("x", "Is it?", ("Yes.",)), rng) == "No"
    assert index.wrong_answer(Question("x", "Is it?", ("maybe",)), rng) == "no"


def test_a_long_answer_comes_from_the_same_frame_with_the_subject_exchanged() -> None:
    wrong = AnswerIndex(QUESTIONS).wrong_answer(QUESTIONS[7], np.random.default_rng(0))
    assert wrong == "Too much sunlight is behind most cases of Alpha disease in adults."


def test_without_other_questions_numbers_change_or_the_answer_is_denied() -> None:
    index, rng = AnswerIndex(()), np.random.default_rng(0)
    assert index.wrong_answer(Question("x", "How many?", ("30",)), rng) not in ("30", "not 30")
    assert index.wrong_answer(Question("x", "Who?", ("Anna Berg",)), rng) == "not Anna Berg"
