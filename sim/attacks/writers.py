"""Who writes AdvRAGgen's paraphrases: rules without a model, or a language model."""

from __future__ import annotations

import logging
from typing import Protocol

import numpy as np

from core.errors import LLMError
from core.llm import LLM, Message
from core.text import content_words, sentences, squash, words

_log = logging.getLogger(__name__)
_OPENINGS = (
    "On {0} and {1}, the following is on record.",
    "Anyone who looks into {0} or {1} will come across this.",
    "Where {0} meets {1}, one account stands out.",
    "Much has been said about {0}; with regard to {1}, this is what is known.",
    "The subject here is {0}, and with it {1}.",
)
_BRIDGES = (
    "This bears on {0} as much as on {1}.",
    "Questions of {0} and {1} come back to this.",
    "It is often cited next to {0} and {1}.",
)
_SYSTEM = (
    "You rewrite passages. Keep every fact of the passage, use your own words, and lead into it so that a "
    "reader interested in the given topic finds it. Do not repeat the question. Reply with the passage only."
)


def writing_prompt(question: str, document: str) -> list[Message]:
    """What a language model is asked to write."""
    return [
        Message("system", _SYSTEM),
        Message("user", f"Topic: {question}\n\nPassage: {document}\n\nRewritten passage:"),
    ]


class Writer(Protocol):
    """Writes paraphrases of a document that lean towards a question; `identity` names how."""

    identity: str

    def write(self, question: str, document: str, n: int, rng: np.random.Generator) -> list[str]:
        """`n` paraphrases, fewer where the writer failed at some; none is empty."""
        ...


class RuleWriter:
    """Keeps a draw of the document's sentences and talks of the question's content words around them.

    The words come as two runs of the question, either first, in frames of other words, so that the
    question is not copied as a whole. Each draw decides how many sentences stay (four in five at least)
    and the frame of an opening, which leads into the document's matter. `woven` adds one to three
    bridges anywhere in the document: an attacker who knows that documents are judged in pieces.
    """

    def __init__(self, *, woven: bool = False) -> None:
        self._woven = woven
        self.identity = f"rules-{'woven' if woven else 'leading'}/v5"

    def write(self, question: str, document: str, n: int, rng: np.random.Generator) -> list[str]:
        """Exactly `n` texts; equal ones may occur."""
        topic = list(dict.fromkeys(content_words(question))) or words(question) or ["this"]
        told = sentences(document) or [document]
        return [self._one(topic, told, rng) for _ in range(n)]

    def _one(self, topic: list[str], told: list[str], rng: np.random.Generator) -> str:
        share = rng.uniform(0.8, 1.0)
        kept = np.sort(rng.choice(len(told), size=max(1, round(share * len(told))), replace=False))
        body = [told[i] for i in kept]
        lead = self._frame(_OPENINGS, topic, rng)
        for _ in range(int(rng.integers(1, 4)) if self._woven else 0):
            body.insert(int(rng.integers(0, len(body) + 1)), self._frame(_BRIDGES, topic, rng))
        return " ".join([lead, *body])

    def _frame(self, frames: tuple[str, ...], topic: list[str], rng: np.random.Generator) -> str:
        cut = int(rng.integers(1, len(topic))) if len(topic) > 1 else 1
        first, second = " ".join(topic[:cut]), " ".join(topic[cut:] or topic)
        if rng.random() < 0.5:
            first, second = second, first
        return frames[int(rng.integers(len(frames)))].format(first, second)


class LLMWriter:
    """A language model as the writer.

    Args:
        llm: any back end; a completion that fails or is empty gives no paraphrase.
        max_tokens: length of a completion.
    """

    def __init__(self, llm: LLM, max_tokens: int = 180, temperature: float = 0.9) -> None:
        self._llm = llm
        self._max_tokens = max_tokens
        self._temperature = temperature
        self.identity = f"llm/{llm.name}/{max_tokens}/{temperature}/v1"

    def write(self, question: str, document: str, n: int, rng: np.random.Generator) -> list[str]:
        """Fewer than `n` where some completions failed, which is told; `LLMError` where every one did."""
        prompt = writing_prompt(question, document)
        found: list[str] = []
        failed, failure = 0, None
        for _ in range(n):
            try:
                done = self._llm.complete(
                    prompt,
                    max_tokens=self._max_tokens,
                    temperature=self._temperature,
                    seed=int(rng.integers(2**31)),
                )
            except LLMError as error:
                failed, failure = failed + 1, error
                continue
            if text := squash(done.text):
                found.append(text)
        if not found and failure is not None:
            raise failure
        if failed:
            _log.warning(
                "%d of %d completions failed, the attack chooses among fewer: %s", failed, n, failure
            )
        return found


def open_writer(spec: str) -> Writer:
    """`rules`, `woven-rules`, or the language model that `spec` names.

    Raises:
        ConfigError: unknown back end. MissingPackageError: it is not installed.
    """
    if spec in ("rules", "woven-rules"):
        return RuleWriter(woven=spec == "woven-rules")
    from aggregator.llm import open_llm

    return LLMWriter(open_llm(spec))
