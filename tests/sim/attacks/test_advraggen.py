from __future__ import annotations

import numpy as np
import pytest

from core.embedding.hashing import HashingEmbedder
from core.errors import LLMError
from core.llm import Completion, Message
from sim.attacks.advraggen import BestOfCrafter, RewardWeights, rewards
from sim.attacks.writers import LLMWriter, RuleWriter, open_writer

EMBEDDER = HashingEmbedder(1024)
QUESTION = "who painted the great hall of tarn castle"
DOCUMENT = (
    "Ships came in at dawn. Fishermen mended their nets on the quay. Prices fell again in the market. "
    "By noon the boats had left. Nobody spoke of the storm."
)


class Scripted:
    """A writer with set lines."""

    identity = "scripted"

    def __init__(self, *texts: str) -> None:
        self.texts = texts

    def write(self, question, document, n, rng):
        return list(self.texts)


def test_the_three_rewards() -> None:
    found = rewards(QUESTION, DOCUMENT, [DOCUMENT, QUESTION, f"{QUESTION} {DOCUMENT}", "zebra"], EMBEDDER)
    assert found.meaning[0] == pytest.approx(1.0, abs=1e-6)
    assert found.retrieval[1] == pytest.approx(1.0, abs=1e-6)
    assert found.copying[1] == found.copying[2] == 1.0
    assert found.copying[3] == 0.0
    assert found.retrieval[2] > found.retrieval[0]
    total = found.total(RewardWeights(meaning=2.0, retrieval=1.0, copying=0.5))
    np.testing.assert_allclose(total, 2 * found.meaning + found.retrieval - 0.5 * found.copying)


def test_meaning_may_be_judged_by_another_embedder() -> None:
    other = HashingEmbedder(8)
    found = rewards(QUESTION, DOCUMENT, ["ships castle"], EMBEDDER, other)
    vectors = other.embed([DOCUMENT, "ships castle"])
    assert found.meaning[0] == pytest.approx(float(vectors[0] @ vectors[1]), abs=1e-6)


def test_the_best_paraphrase_wins_and_a_copy_of_the_question_does_not() -> None:
    woven = f"Of a castle hall and those who painted it at Tarn, great ones among them. {DOCUMENT}"
    writer = Scripted(DOCUMENT, f"{QUESTION} {DOCUMENT}", woven, QUESTION)
    crafter = BestOfCrafter(
        writer, weights=RewardWeights(meaning=1, retrieval=1, copying=1), embedder=EMBEDDER
    )
    assert crafter.craft(QUESTION, DOCUMENT, np.random.default_rng(0)) == woven
    greedy = BestOfCrafter(writer, weights=RewardWeights(meaning=0, copying=0), embedder=EMBEDDER)
    assert greedy.craft(QUESTION, DOCUMENT, np.random.default_rng(0)) == QUESTION


def test_a_phrase_to_keep_stays_and_nothing_written_is_the_document() -> None:
    crafter = BestOfCrafter(Scripted(QUESTION, "Prices fell. Castle hall."), embedder=EMBEDDER)
    assert crafter.craft(QUESTION, DOCUMENT, np.random.default_rng(0), "prices fell").startswith("Prices")
    assert crafter.craft(QUESTION, DOCUMENT, np.random.default_rng(0), "the storm") == DOCUMENT
    assert (
        BestOfCrafter(Scripted(), embedder=EMBEDDER).craft(QUESTION, DOCUMENT, np.random.default_rng(0))
        == DOCUMENT
    )


@pytest.mark.parametrize("question", [QUESTION, "who is it", "?", "Tarn"])
def test_rules_write_what_is_asked_for(question: str) -> None:
    for document in (DOCUMENT, "one word", "x"):
        texts = RuleWriter().write(question, document, 20, np.random.default_rng(2))
        assert len(texts) == 20
        assert texts == RuleWriter().write(question, document, 20, np.random.default_rng(2))
        assert all(text.strip() for text in texts)
        assert all(question.strip("?") not in text for text in texts if len(question.split()) > 3)
    assert len(set(RuleWriter().write(QUESTION, DOCUMENT, 20, np.random.default_rng(2)))) > 10


def test_rules_keep_sentences_of_the_document_and_come_closer() -> None:
    texts = RuleWriter().write(QUESTION, DOCUMENT, 20, np.random.default_rng(0))
    found = rewards(QUESTION, DOCUMENT, texts, EMBEDDER)
    assert found.meaning.min() > 0.2
    told = DOCUMENT.split(". ")
    assert all(sum(sentence.strip(".") in text for sentence in told) >= 2 for text in texts)
    assert found.retrieval.min() > float(EMBEDDER.embed([DOCUMENT])[0] @ EMBEDDER.embed([QUESTION])[0])
    assert found.copying.max() < 1.0


class Speaking:
    """A language model that answers with set lines, or fails at an empty one."""

    name = "speaking"
    capabilities = frozenset()

    def __init__(self, *lines: str | None) -> None:
        self.lines = list(lines)
        self.asked: list[tuple[list[Message], int | None]] = []

    def complete(self, messages, *, max_tokens=128, temperature=0.0, seed=None):
        self.asked.append((list(messages), seed))
        line = self.lines.pop(0)
        if line is None:
            raise LLMError("no answer")
        return Completion(line)


def test_a_language_model_writes_and_may_fail_at_some(caplog: pytest.LogCaptureFixture) -> None:
    llm = Speaking("First  version.", None, "  ", "Second.")
    texts = LLMWriter(llm).write(QUESTION, DOCUMENT, 4, np.random.default_rng(0))
    assert texts == ["First version.", "Second."]
    assert QUESTION in llm.asked[0][0][1].content
    assert DOCUMENT in llm.asked[0][0][1].content
    assert len({seed for _, seed in llm.asked}) == 4
    assert "1 of 4 completions failed" in caplog.text


def test_a_language_model_that_always_fails_is_an_error() -> None:
    with pytest.raises(LLMError):
        LLMWriter(Speaking(None, None)).write(QUESTION, DOCUMENT, 2, np.random.default_rng(0))


def test_writers_by_name() -> None:
    assert isinstance(open_writer("rules"), RuleWriter)
