"""none, saa, poisonedrag and ata."""

from __future__ import annotations

import numpy as np
import pytest

from core.text import contains_answer
from sim.attacks.base import AttackContext, AttackOptions, open_attack
from sim.attacks.view import view_of
from tests.sim.small_corpus import small_corpus

CORPUS = small_corpus()
VIEW = view_of(CORPUS)
WITH, WITHOUT = CORPUS.questions[0], CORPUS.questions[20]
POISON = CORPUS.poisons["q00"]


def opened(name: str, **options: object):
    return open_attack(name, AttackContext(VIEW, AttackOptions(**options), 3))


def rng(seed: int = 0) -> np.random.Generator:
    return np.random.default_rng(seed)


def test_no_attack_has_no_texts_and_changes_none() -> None:
    attack = opened("none")
    assert attack.payloads(WITH, POISON, rng()).texts == ()
    assert attack.payloads(WITH, POISON, rng()).target_answer == "Zed Quill"
    assert attack.tamper("It is so.", "general", rng()) == "It is so."


@pytest.mark.parametrize("question", [WITH, WITHOUT])
def test_saa_is_the_question_and_a_wrong_answer(question) -> None:
    made = opened("saa").payloads(question, CORPUS.poisons.get(question.query_id), rng())
    assert len(set(made.texts)) == 5
    assert made.texts[0] == f"{question.text} {made.target_answer}"
    for text in made.texts:
        assert text.startswith(question.text)
        assert contains_answer(text, made.target_answer)
    assert made.target_answer not in question.answers


def test_saa_is_fixed_text_whatever_the_draws() -> None:
    assert opened("saa").payloads(WITH, POISON, rng(1)) == opened("saa").payloads(WITH, POISON, rng(2))


def test_poisonedrag_puts_the_question_before_the_payloads_of_the_record() -> None:
    made = opened("poisonedrag").payloads(WITH, POISON, rng())
    assert made.texts == tuple(f"{WITH.text} {text}" for text in POISON.texts)
    assert opened("poisonedrag", prefix=False).payloads(WITH, POISON, rng()).texts == POISON.texts


def test_a_question_without_mark_gets_a_stop() -> None:
    bare = type(WITH)("x", "who opened it", ("A",))
    assert opened("poisonedrag").payloads(bare, POISON, rng()).texts[0].startswith("who opened it. Records")


def test_poisonedrag_makes_payloads_where_there_is_no_record() -> None:
    made = opened("poisonedrag", prefix=False).payloads(WITHOUT, None, rng())
    assert len(set(made.texts)) == 5
    assert all(contains_answer(text, made.target_answer) for text in made.texts)
    assert all(WITHOUT.text not in text for text in made.texts)
    assert made.target_answer not in WITHOUT.answers
    assert made == opened("poisonedrag", prefix=False).payloads(WITHOUT, None, rng())


def test_ata_tampers_within_its_edits() -> None:
    text = CORPUS.documents[0].text
    assert opened("ata").tamper(text, "general", rng()) != text
    one = opened("ata", edits=1).tamper(text, "general", rng(4)).split(". ")
    assert sum(a != b for a, b in zip(one, text.split(". "), strict=True)) == 1
    assert opened("ata").payloads(WITH, POISON, rng()).texts == ()
