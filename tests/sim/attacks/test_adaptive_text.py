from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from core.text import content_words
from defenses.tris.prefix import PrefixCheck
from sim.attacks.adaptive_text import encyclopedic, longest_trigger, paraphrased_trigger

QUESTIONS = [
    "who painted the ceiling of the blue hall",
    "where did the royal fleet land in 1412?",
    "how many lines of symmetry are there in a equilateral triangle",
    "when is the next total eclipse visible in northern kelmar",
]


@pytest.mark.parametrize("question", QUESTIONS)
@pytest.mark.parametrize("seed", range(6))
def test_a_paraphrase_keeps_the_words_and_passes_layer_two(question: str, seed: int) -> None:
    text = paraphrased_trigger(question, np.random.default_rng(seed))
    assert set(content_words(question)) <= set(content_words(text))
    check = PrefixCheck(question)
    assert not check.rejects(check.measure(f"{text} Something else follows here."))


def test_an_entry_holds_its_payload_and_an_update_says_so() -> None:
    for seed in range(6):
        text = encyclopedic(QUESTIONS[0], "Bram Tolk did it.", np.random.default_rng(seed))
        assert "Bram Tolk did it." in text
        assert len(text.split()) > 15
        new = encyclopedic(QUESTIONS[0], "Bram Tolk did it.", np.random.default_rng(seed), update=True)
        assert any(word in new for word in ("revised", "replaces", "latest revision", "update"))


@given(
    st.lists(st.sampled_from("who painted the blue hall of kelmar in spring".split()), max_size=14),
    st.text(max_size=80),
)
def test_the_longest_trigger_passes_layer_two(asked: list[str], rest: str) -> None:
    question = " ".join(asked)
    check = PrefixCheck(question)
    trigger = longest_trigger(question, check, rest)
    if trigger:
        assert not check.rejects(check.measure(f"{trigger} {rest}"))


def test_it_is_long() -> None:
    question = QUESTIONS[0]
    rest = "Bram Tolk was asked to do so by the council of the town in the year of the flood."
    trigger = longest_trigger(question, PrefixCheck(question), rest)
    assert len(trigger.split()) >= 6
    assert trigger.lower().rstrip(".") != question
