from __future__ import annotations

import numpy as np

from core.records import Document
from core.text import contains_answer
from sim.attacks.base import AttackContext, AttackOptions, open_attack
from sim.attacks.query_as_poison import QueryCrafter
from sim.attacks.view import view_of
from sim.corpora.records import Corpus, Poison, Question

SENTENCES = "Rain fell on the quay. Boats lay still. The market closed early. Nobody came out at night. " * 5
QUESTION = Question("q", "Who built the lighthouse of Kelmar?", ("Ida Voss",))
CORPUS = Corpus("c", [Document(str(i), SENTENCES) for i in range(6)], [QUESTION])
POISON = Poison("q", "Otto Brandt", tuple(f"Otto Brandt built it, says source {i}." for i in range(7)))


def payloads(**options):
    attack = open_attack("query_as_poison", AttackContext(view_of(CORPUS), AttackOptions(**options)))
    return attack.payloads(QUESTION, POISON, np.random.default_rng(0))


def test_the_question_stands_in_front() -> None:
    crafter = QueryCrafter()
    rng = np.random.default_rng(0)
    assert crafter.craft("who built it", "A document.", rng) == "who built it. A document."
    assert crafter.craft("Who built it?", "A document.", rng) == "Who built it? A document."


def test_an_irrelevant_passage_carries_the_wrong_answer() -> None:
    made = payloads()
    assert made.target_answer == "Otto Brandt"
    assert len(made.texts) == 5
    for text in made.texts:
        assert text.startswith(QUESTION.text)
        assert contains_answer(text, "Otto Brandt")
        assert len(text.split()) > 60


def test_no_more_are_made_than_a_source_may_return() -> None:
    assert len(payloads(per_source=2).texts) == 2
    assert len(payloads(per_source=2, collude=False).texts) == 5
