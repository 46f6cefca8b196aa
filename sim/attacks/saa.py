"""SAA: the question with a wrong answer appended, in fixed words."""

from __future__ import annotations

from typing import ClassVar

import numpy as np

from sim.attacks.base import BaseAttack, Kind, Payloads
from sim.corpora.records import Poison, Question

_FORMS = (
    "{question} {answer}",
    "{question} The answer is {answer}.",
    "{question} Answer: {answer}.",
    "{question} It is {answer}.",
    "{question} The correct answer: {answer}.",
)


class SimpleAdditiveAttack(BaseAttack):
    """Five fixed texts a question (SCR's baseline attack; its exact words are not published)."""

    kind: ClassVar[Kind] = "inject"
    reads: ClassVar[frozenset[str]] = frozenset({"collude", "length", "per_source", "reword"})

    def payloads(self, question: Question, poison: Poison | None, rng: np.random.Generator) -> Payloads:
        target = poison.target_answer if poison else self.context.view.answers.wrong_answer(question, rng)
        asked = question.text.strip()
        answer = target.strip().rstrip(".")
        return Payloads(target, tuple(form.format(question=asked, answer=answer) for form in _FORMS))
