"""Membership inference: probes hide the hard words, reports subtract what is guessed."""

from __future__ import annotations

import math

import numpy as np
import pytest

from core.records import Document
from core.text import stop_words
from sim.cloze import WordScore, _by_word
from sim.membership import (
    Outcome,
    Probe,
    Seen,
    hardest,
    mba_probe,
    rag_mia_probe,
    report,
    run_mba,
    run_rag_mia,
)
from sim.probes import masked

TEXT = "The patient was given intravenous methotrexate for nine weeks and then recovered without any relapse"


class Memory:
    """A stand-in for the language model with a perfect memory: knows exactly the words of its context."""

    def words(self, text: str, context: str = "") -> list[WordScore]:
        found, position = [], 0
        for i, word in enumerate(text.split()):
            start = text.index(word, position)
            position = start + len(word)
            rank = 0 if word in context else len(word) + i
            found.append(WordScore(start, position, rank, -float(rank)))
        return found


def test_the_hardest_word_of_each_part_is_hidden() -> None:
    probe = mba_probe(Document("d", TEXT), True, Memory(), n_masks=3)
    hidden = [TEXT[a:b] for a, b in probe.masks]
    assert len(hidden) == 3
    assert hidden[0] == "intravenous"
    assert not {word.lower() for word in hidden} & stop_words()
    for i in (1, 2, 3):
        assert f"[Mask_{i}]" in probe.question
    assert "intravenous" not in probe.question


def test_neighbours_of_a_mask_are_never_masked() -> None:
    scores = [WordScore(2 * i, 2 * i + 2, 100 - i, 0.0) for i in range(4)]
    assert hardest("abcdefgh", scores, 4) == [(0, 2), (4, 6)]


def test_a_member_is_told_from_a_stranger() -> None:
    member, stranger = Document("m", TEXT), Document("s", TEXT.replace("methotrexate", "prednisolone"))
    probes = [mba_probe(member, True, Memory()), mba_probe(stranger, False, Memory())]
    outcomes = run_mba(probes, lambda p: Seen(True, TEXT if p.member else "rain falls"), Memory())
    found = report(outcomes)
    assert (found.leak_members, found.leak_non_members, found.advantage) == (1.0, 0.0, 1.0)
    assert (found.auc, found.accuracy) == (1.0, 1.0)
    silent = report(run_mba(probes, lambda p: Seen(False, ""), Memory()))
    assert (silent.leak_members, silent.answer_members, silent.auc) == (0.0, 0.0, 0.5)


def test_plain_probe() -> None:
    probe = rag_mia_probe(Document("d", TEXT), True, max_words=4)
    assert (
        probe.question == 'Does this: "The patient was given" appear in the context? Answer with Yes or No.'
    )
    outcomes = run_rag_mia([probe], lambda p: Seen(True, TEXT), lambda context, question: 1.5)
    assert (outcomes[0].filled, outcomes[0].score) == (1.0, 1.5)


def test_report_by_hand() -> None:
    def outcome(member: bool, filled: float, answered: bool = True) -> Outcome:
        return Outcome(Probe("d", member, "", ""), answered, filled, filled)

    found = report([outcome(True, 0.6), outcome(True, 0.2), outcome(False, 0.2), outcome(False, 0.0, False)])
    assert found.leak_members == pytest.approx(0.4)
    assert found.leak_non_members == pytest.approx(0.1)
    assert found.advantage == pytest.approx(0.3)
    assert found.answer_non_members == 0.5
    assert found.auc == pytest.approx(0.875)
    assert found.accuracy == pytest.approx(0.75)
    assert math.isnan(report([outcome(True, 1.0)]).auc)


def test_words_take_the_worst_of_their_tokens() -> None:
    text = "ab cd"
    rows = _by_word(text, [(0, 1), (1, 2), (2, 5)], [3, 7, 1], [-1.0, -2.0, -0.5])
    assert rows == [(0, 2, 7, -3.0), (3, 5, 1, -0.5)]


def test_cheap_masks() -> None:
    probe = masked(TEXT, n_masks=3)
    assert probe.count("[Mask_") == 3
    assert "intravenous" not in probe
    assert np.isclose(len(probe.split()), len(TEXT.split()) + 7, atol=1)
