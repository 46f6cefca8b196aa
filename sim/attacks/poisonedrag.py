"""PoisonedRAG, black box (arXiv 2402.07867): the question, then a payload that asserts a wrong answer."""

from __future__ import annotations

from typing import ClassVar

import numpy as np

from sim.attacks.assertion import payload_texts
from sim.attacks.base import BaseAttack, Kind, Payloads
from sim.corpora.records import Poison, Question

_PAYLOADS = 5  # the paper's N


class PoisonedRAG(BaseAttack):
    """Payloads of the poison record where there is one, else made from templates (no LLM here).

    P = S + I with S the question and a full stop; `prefix=false` leaves S out.
    """

    kind: ClassVar[Kind] = "inject"
    reads: ClassVar[frozenset[str]] = frozenset({"collude", "prefix", "length", "per_source", "reword"})

    def payloads(self, question: Question, poison: Poison | None, rng: np.random.Generator) -> Payloads:
        if poison is not None:
            target, texts = poison.target_answer, poison.texts
        else:
            target = self.context.view.answers.wrong_answer(question, rng)
            texts = payload_texts(question.text, target, _PAYLOADS, rng)
        if self.context.options.prefix:
            asked = question.text.strip()
            opening = asked if asked[-1] in ".?!" else f"{asked}."
            texts = tuple(f"{opening} {text}" for text in texts)
        return Payloads(target, texts)
