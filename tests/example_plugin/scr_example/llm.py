"""A language model: repeats the last sentence that it was given."""

from __future__ import annotations

from collections.abc import Sequence

from core.errors import LLMError
from core.llm import Capability, Completion, Message
from core.text import sentences


class Parrot:
    """Chat only; says `model` in front, where one is named (`parrot:NAME`)."""

    capabilities = frozenset({Capability.CHAT})

    def __init__(self, model: str = "") -> None:
        self.name = f"parrot:{model}" if model else "parrot"
        self._front = f"{model}: " if model else ""

    def complete(
        self,
        messages: Sequence[Message],
        *,
        max_tokens: int = 128,
        temperature: float = 0.0,
        seed: int | None = None,
    ) -> Completion:
        heard = [sentence for message in messages for sentence in sentences(message.content)]
        if not heard:
            raise LLMError(f"{self.name} heard nothing to repeat")
        return Completion(self._front + " ".join(heard[-1].split()[:max_tokens]))
