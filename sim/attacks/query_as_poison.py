"""The question itself in front of an irrelevant document (RAGPart paper, section 4)."""

from __future__ import annotations

import numpy as np

from sim.attacks.base import AttackOptions
from sim.attacks.crafting import Carried


class QueryCrafter:
    """The question, word by word, then the document."""

    identity = "query_as_poison/v1"

    def craft(self, question: str, document: str, rng: np.random.Generator, keep: str = "") -> str:
        """Draws nothing."""
        asked = question.strip()
        return f"{asked if asked[-1:] in '.?!' else asked + '.'} {document}"


class QueryAsPoison(Carried):
    """Black box: needs to know nothing but the question."""

    def crafter(self, options: AttackOptions) -> QueryCrafter:
        return QueryCrafter()
