from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from core.text import contains_answer
from sim.attacks.assertion import payload_texts, statement, topic

QUESTIONS = [
    "who recorded the song", "What is the capital of France?", "When did the war end?", "how many lines are there in it",
    "Where do the sharks play in San Jose?", "Which river flows through it?", "why do people yawn",
    "How to prevent measles ?", "What causes Alpha disease?", "name of the atom bomb", "Is surgery safe?",
    "Do mitochondria play a role in cell death?",
]  # fmt: skip


@pytest.mark.parametrize(
    ("question", "expected"),
    [
        ("who recorded the song?", "Zed recorded the song"),
        ("What is the capital of France?", "the capital of France is Zed"),
        ("when did the war end", "the war end in Zed"),
        ("Which river flows through it?", "Zed is the river flows through it"),
        ("The bank lies in what town of France?", "the bank lies in Zed, the town of France"),
        ("name of the atom bomb", "the answer on name of the atom bomb is Zed"),
    ],
)
def test_statements(question: str, expected: str) -> None:
    assert statement(question, "Zed.") == expected


def test_topics_lose_the_question_words() -> None:
    assert topic("Do mitochondria play a role?") == "mitochondria play a role"
    assert topic("How many lines are there?") == "lines are there"
    assert topic("Does it help?") == "it help"
    assert topic("What is (are) measles ?") == "measles"
    assert topic("who?") == "who"


@given(
    st.sampled_from(QUESTIONS),
    st.sampled_from(
        ["Zed Quill", "no", "Yes", "42", "It is a long answer with more than eight words in it."]
    ),
    st.integers(0, 2**32),
)
def test_payloads_assert_the_answer_without_the_literal_question(
    question: str, answer: str, seed: int
) -> None:
    made = payload_texts(question, answer, 5, np.random.default_rng(seed))
    assert made == payload_texts(question, answer, 5, np.random.default_rng(seed))
    assert len(made) == len(set(made)) >= 3
    for text in made:
        assert contains_answer(text, answer)
        assert text[0].isupper() or not text[0].isalpha()
        assert question.rstrip("? ") not in text or len(question.split()) < 6
        assert 8 <= len(text.split()) <= 80
