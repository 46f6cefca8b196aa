"""The reader protocol: what turns kept documents into an answer."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Protocol, runtime_checkable

from core.records import Candidate


@dataclass(frozen=True, slots=True)
class ReadRequest:
    """What a reader is given.

    `documents` are the first reader-k survivors in the aggregator's own order. `options` are the
    answers that a forced-choice reader chooses from (the right one, the attack's target); other
    readers ignore them.
    """

    question: str
    documents: tuple[Candidate, ...]
    options: tuple[str, ...] = ()
    seed: int = 0


@dataclass(frozen=True, slots=True)
class Reading:
    """An answer: `text`, empty where the reader has nothing to say (then `abstained`)."""

    text: str
    abstained: bool = False
    llm_calls: int = 0
    scores: tuple[float, ...] = ()
    cited: tuple[str, ...] = field(default_factory=tuple)


@runtime_checkable
class Reader(Protocol):
    """A reader; `simulated` is true where no language model generates the answer.

    `forced_choice` is true where the answer is one of `ReadRequest.options`.
    """

    name: str
    simulated: bool
    forced_choice: bool

    def read(self, request: ReadRequest) -> Reading:
        """Answer `request`.

        Raises:
            LLMError: the model behind the reader failed.
        """
        ...


def as_context(documents: Sequence[Candidate]) -> str:
    """Documents as numbered context paragraphs, title first where there is one."""
    lines = []
    for i, document in enumerate(documents, start=1):
        head = f"{document.title}. " if document.title else ""
        lines.append(f"[{i}] {head}{document.text}")
    return "\n".join(lines)
