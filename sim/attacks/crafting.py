"""Making one document retrievable for one question: what RAGPart's attacks share.

A crafter takes a question and an adversarial document and gives the document's poisoned text; what the
document says stays in it. `Carried` turns a crafter into an attack of the simulation.
"""

from __future__ import annotations

from typing import ClassVar, Protocol

import numpy as np

from core.registry import Registry
from sim.attacks.assertion import payload_texts
from sim.attacks.base import AttackContext, BaseAttack, Kind, Payloads
from sim.attacks.padding import pad
from sim.corpora.records import Poison, Question

_TEXTS = 5  # as many as PoisonedRAG makes for a question

CRAFTERS = Registry(
    "crafter",
    "securecollarag.crafters",
    {
        "hotflip": "sim.attacks.hotflip:HotFlipCrafter",
        "hotflip_spread": "sim.attacks.hotflip:SpreadCrafter",
        "query_as_poison": "sim.attacks.query_as_poison:QueryCrafter",
        "advraggen": "sim.attacks.advraggen:BestOfCrafter",
    },
    extra="sim",
)


class Crafter(Protocol):
    """Makes poisons. `identity` names everything but question, document and draws that decides them."""

    identity: str

    def craft(self, question: str, document: str, rng: np.random.Generator) -> str:
        """`document`, poisoned for `question`."""
        ...


class Carried(BaseAttack):
    """An injecting attack whose documents are irrelevant passages that carry a wrong answer.

    RAGPart's attacks make an irrelevant document retrievable and end there; so that the reader has
    something to be misled by, the payload (the poison record's text, or one from templates) stands
    among sentences of the corpus up to its median document length.
    """

    kind: ClassVar[Kind] = "inject"
    reads: ClassVar[frozenset[str]] = frozenset({"collude", "per_source", "reword"})
    crafter: ClassVar[str] = ""

    def __init__(self, context: AttackContext) -> None:
        super().__init__(context)
        self._crafter: Crafter = CRAFTERS.get(self.crafter)()

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
        return Payloads(target, tuple(self._crafter.craft(question.text, text, rng) for text in carried))
