"""The language-model protocol; back ends live above and are injected."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Protocol, runtime_checkable

import numpy as np
from numpy.typing import NDArray

from core.errors import ConfigError


class Capability(StrEnum):
    """What a back end can do beyond completing a prompt; checked when a pipeline is built."""

    CHAT = "chat"
    LOGPROBS = "logprobs"
    ATTENTION = "attention"


@dataclass(frozen=True, slots=True)
class Message:
    """One chat turn; `role` is `system`, `user` or `assistant`."""

    role: str
    content: str


@dataclass(frozen=True, slots=True)
class Completion:
    """A finished answer with its token counts; `cached` where no call was made."""

    text: str
    prompt_tokens: int = 0
    completion_tokens: int = 0
    cached: bool = False


@runtime_checkable
class LLM(Protocol):
    """A language model behind one face.

    Every method raises `LLMError` after its own retries: a failure is never an empty answer.
    """

    name: str
    capabilities: frozenset[Capability]

    def complete(
        self,
        messages: Sequence[Message],
        *,
        max_tokens: int = 128,
        temperature: float = 0.0,
        seed: int | None = None,
    ) -> Completion:
        """The model's next turn; deterministic at temperature 0 for a local model."""
        ...


@runtime_checkable
class ScoringLLM(LLM, Protocol):
    """A back end with `Capability.LOGPROBS`."""

    def log_likelihood(self, prompt: str, continuations: Sequence[str]) -> NDArray[np.float64]:
        """Mean log-probability per token of each continuation after `prompt`; (n,), each ≤ 0."""
        ...


@runtime_checkable
class AttentionLLM(LLM, Protocol):
    """A back end with `Capability.ATTENTION`."""

    def attention_to(self, prompt: str, spans: Sequence[tuple[int, int]]) -> NDArray[np.float64]:
        """Attention of the generated answer to each character span of `prompt`; (n,), sums to ≤ 1."""
        ...


def require_llm(llm: LLM | None, who: str, needs: Iterable[Capability] = ()) -> LLM:
    """`llm`, checked when `who` is built: it must exist and have every capability in `needs`.

    Raises:
        ConfigError: no language model is configured, or it cannot do what `who` needs.
    """
    if llm is None:
        raise ConfigError(
            f"{who} needs a language model and none is configured "
            "(--llm smollm2, --llm openai:MODEL or --llm transformers:PATH)"
        )
    missing = sorted(set(needs) - llm.capabilities)
    if missing:
        can = ", ".join(sorted(llm.capabilities)) or "completion only"
        raise ConfigError(f"{who} needs a language model with {', '.join(missing)}; {llm.name!r} has {can}")
    return llm
