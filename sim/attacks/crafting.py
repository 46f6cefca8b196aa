"""Making one document retrievable for one question: what RAGPart's attacks share.

A crafter takes a question and an adversarial document and gives the document's poisoned text; what the
document says stays in it. `Carried` turns a crafter into an attack of the simulation.
"""

from __future__ import annotations

from abc import abstractmethod
from typing import ClassVar, Protocol

import numpy as np

from sim.attacks.assertion import payload_texts
from sim.attacks.base import AttackContext, AttackOptions, BaseAttack, Kind, Payloads
from sim.attacks.padding import pad
from sim.corpora.records import Poison, Question

_TEXTS = 5  # as many as PoisonedRAG makes for a question


class Crafter(Protocol):
    """Makes poisons. `identity` names everything but question, document and draws that decides them."""

    identity: str

    def craft(self, question: str, document: str, rng: np.random.Generator, keep: str = "") -> str:
        """`document`, poisoned for `question`; the phrase `keep` stays whole where the document has it."""
        ...


class Carried(BaseAttack):
    """An injecting attack whose documents are irrelevant passages that carry a wrong answer.

    RAGPart's attacks make an irrelevant document retrievable and end there; so that the reader has
    something to be misled by, the payload (the poison record's text, or one from templates) stands
    among sentences of the corpus up to its median document length.
    """

    kind: ClassVar[Kind] = "inject"
    reads: ClassVar[frozenset[str]] = frozenset({"collude", "per_source", "reword"})

    def __init__(self, context: AttackContext) -> None:
        super().__init__(context)
        self._crafter = self.crafter(context.options)

    @abstractmethod
    def crafter(self, options: AttackOptions) -> Crafter:
        """What poisons the documents; nothing heavy is loaded before it is asked for a poison."""

    def payloads(self, question: Question, poison: Poison | None, rng: np.random.Generator) -> Payloads:
        """As many poisoned documents as are asked of a source, five at most where all collude."""
        view = self.context.view
        if poison is not None:
            target, texts = poison.target_answer, poison.texts
        else:
            target = view.answers.wrong_answer(question, rng)
            texts = payload_texts(question.text, target, _TEXTS, rng)
        if self.context.options.collude and self.context.options.per_source is not None:
            texts = texts[: self.context.options.per_source]
        avoid = {*question.answers, target}
        carried = [
            pad(text, view.median_words, view.runs, avoid, rng, keep_front=False) for text in texts[:_TEXTS]
        ]
        made = (self._crafter.craft(question.text, text, rng, target) for text in carried)
        return Payloads(target, tuple(made))
