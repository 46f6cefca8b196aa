"""A language model whose answers a test writes; it obeys the protocol and counts its calls."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
from numpy.typing import NDArray

from core.errors import LLMError
from core.llm import Capability, Completion, Message

Answer = Callable[[str], str]


class ScriptedLLM:
    """Answers `answer(prompt)`, the prompt being all messages joined; scores by words shared with it."""

    def __init__(self, answer: Answer | str = "I don't know", *, fail: bool = False) -> None:
        self.name = "scripted"
        self.capabilities = frozenset(Capability)
        self.prompts: list[str] = []
        self._answer = answer
        self._fail = fail

    def complete(
        self,
        messages: Sequence[Message],
        *,
        max_tokens: int = 128,
        temperature: float = 0.0,
        seed: int | None = None,
    ) -> Completion:
        prompt = "\n".join(message.content for message in messages)
        self.prompts.append(prompt)
        if self._fail:
            raise LLMError("scripted failure")
        return Completion(self._answer(prompt) if callable(self._answer) else self._answer)

    def log_likelihood(self, prompt: str, continuations: Sequence[str]) -> NDArray[np.float64]:
        self.prompts.append(prompt)
        if self._fail:
            raise LLMError("scripted failure")
        there = prompt.lower().split()
        return np.array([-1.0 / (1 + sum(there.count(w) for w in c.lower().split())) for c in continuations])

    def attention_to(self, prompt: str, spans: Sequence[tuple[int, int]]) -> NDArray[np.float64]:
        """Uniform over the characters of the prompt."""
        self.prompts.append(prompt)
        if self._fail:
            raise LLMError("scripted failure")
        return np.array([(end - start) / max(len(prompt), 1) for start, end in spans])
