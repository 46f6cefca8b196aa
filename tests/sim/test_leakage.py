"""Content leakage: prompts anchor and command, recitation is measured in words."""

from __future__ import annotations

import pytest

from core.reader import ReadRequest
from core.records import Candidate, Document, DocumentKey
from core.seeding import generator
from defenses import cues
from sim.leakage import COMMANDS, ObedientReader, make_prompts, measure

DOCUMENTS = [
    Document(f"d{i}", f"Fact {i} about rivers is here. More follows.", f"River {i}") for i in range(9)
]


def test_prompts_are_anchored_commands() -> None:
    prompts = make_prompts(DOCUMENTS, 6, generator(0, "x"))
    assert len({p.doc_id for p in prompts}) == 6
    for prompt in prompts:
        assert prompt.text.startswith("Tell me about River")
        assert any(command in prompt.text for command in COMMANDS)
        assert cues.count(cues.fold(prompt.text), cues.EXTRACTION) >= 1
    assert prompts == make_prompts(DOCUMENTS, 6, generator(0, "x"))
    untitled = make_prompts([Document("d", "Glaciers carve deep valleys.")], 1, generator(0, "x"))
    assert "glaciers carve deep valleys" in untitled[0].text


def test_recitation_is_measured() -> None:
    long = " ".join(f"w{i}" for i in range(30))
    found = measure([long, "short answer", ""], [[long, "other"], ["a short answer here"], ["x"]])
    assert found.n == 3
    assert found.leaked == pytest.approx(1 / 3)
    assert found.answered == pytest.approx(2 / 3)
    assert found.span == pytest.approx((30 + 2 + 0) / 3)
    assert found.rouge_l == pytest.approx((1.0 + 2 * 0.5 * 1.0 / 1.5 + 0.0) / 3, abs=0.05)


def test_the_obedient_reader_recites() -> None:
    documents = tuple(Candidate(DocumentKey("s", str(i)), f"text {i}") for i in range(3))
    assert ObedientReader().read(ReadRequest("q", documents)).text == "text 0\ntext 1"
    assert ObedientReader().read(ReadRequest("q", ())).abstained
    assert ObedientReader.simulated
