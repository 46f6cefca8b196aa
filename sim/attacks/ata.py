"""ATA: the documents that a source returns are altered, here with rules by domain (no LLM writes them)."""

from __future__ import annotations

from typing import ClassVar

import numpy as np

from sim.attacks.base import BaseAttack, Kind
from sim.attacks.tamper import tamper


class AdversarialTampering(BaseAttack):
    """A random tactic of the corpus's domain for each document; else the main statement is negated.

    The paper names five medical categories in a figure only; the tactics here are this project's choice.
    """

    kind: ClassVar[Kind] = "tamper"
    reads: ClassVar[frozenset[str]] = frozenset(
        {"collude", "per_source", "reword", "swap", "edit_rate", "edits"}
    )

    def tamper(self, text: str, domain: str, rng: np.random.Generator) -> str:
        return tamper(text, domain, rng, self.context.view.lexicon, self.context.options.edits)

    def tamper_document(self, doc_id: str, text: str, domain: str, rng: np.random.Generator) -> str:
        """Other values for its facts where the corpus knows them, so that liars tell one story."""
        world = self.context.view.world
        if world is not None:
            altered = world.falsify(doc_id, text, rng, self.context.options.edits)
            if altered != text:
                return altered
        return self.tamper(text, domain, rng)
