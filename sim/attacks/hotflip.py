"""HotFlip in front of a document, and spread out over it (RAGPart paper, section 4)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar, Literal

import numpy as np
from pydantic import Field

from core.config import dump
from core.text import content_hash
from sim.attacks.crafting import Carried
from sim.attacks.flip import FlipConfig, Template, flip
from sim.attacks.whitebox import MASK, WhiteBox, default_white_box


class HotFlipConfig(FlipConfig):
    """`tokens`: how many are planted. `start`: they begin as the question's tokens, repeated until
    there are enough, or as mask tokens.
    """

    tokens: int = Field(default=30, ge=1, le=128)
    start: Literal["query", "mask"] = "query"


@dataclass(frozen=True, slots=True)
class Plan:
    """A poison under way: its template, and its text as runs of ids between pieces of the document."""

    template: Template
    parts: tuple[str | slice, ...]

    def text(self, model: WhiteBox, ids: Sequence[int]) -> str:
        """What `ids` in the slots make of the document."""
        pieces = [part if isinstance(part, str) else model.decode(ids[part]) for part in self.parts]
        return " ".join(piece for piece in pieces if piece)


class HotFlipCrafter:
    """Adversarial tokens in front of the document."""

    layout: ClassVar[str] = "front"

    def __init__(self, config: HotFlipConfig | None = None, model: WhiteBox | None = None) -> None:
        self.config = config or HotFlipConfig()
        self._model = model
        self.identity = f"hotflip/{self.layout}/v1/{content_hash(dump(self.config))}"

    @property
    def model(self) -> WhiteBox:
        """The attacked embedder, loaded when it is first needed."""
        if self._model is None:
            self._model = default_white_box()
        return self._model

    def craft(self, question: str, document: str, rng: np.random.Generator) -> str:
        """`rng` draws the slots that are looked at where there are more than candidates."""
        query = self.model.embed(question)
        plan = self._plan(self._start(question), document)
        found = flip(self.model, plan.template, query, self.config, rng)
        return plan.text(self.model, found.ids)

    def _start(self, question: str) -> list[int]:
        if self.config.start == "mask":
            return [MASK] * self.config.tokens
        asked = self.model.encode(question) or [MASK]
        return (asked * -(-self.config.tokens // len(asked)))[: self.config.tokens]

    def _plan(self, planted: list[int], document: str) -> Plan:
        ids = (*planted, *self.model.encode(document))
        slots = tuple(range(len(planted)))
        return Plan(Template(ids, slots), (slice(0, len(planted)), document))


class SpreadCrafter(HotFlipCrafter):
    """The same number of tokens, spread evenly over the part of the document that the embedder reads.

    The paper says no more than that the tokens are spread; places, number and objective are ours.
    """

    layout: ClassVar[str] = "spread"

    def _plan(self, planted: list[int], document: str) -> Plan:
        words = document.split()
        read = self.model.words_read(document, self.model.max_tokens - len(planted))
        cuts = np.linspace(0, read, len(planted) + 1).astype(int)
        ids: list[int] = []
        slots: list[int] = []
        parts: list[str | slice] = []
        for token, start, stop in zip(planted, cuts, cuts[1:], strict=False):
            slots.append(len(ids))
            parts.append(slice(len(ids), len(ids) + 1))
            ids.append(token)
            chunk = " ".join(words[start:stop])
            ids.extend(self.model.encode(chunk))
            parts.append(chunk)
        rest = " ".join(words[read:])
        return Plan(Template((*ids, *self.model.encode(rest)), tuple(slots)), (*parts, rest))


class HotFlip(Carried):
    """White box: adversarial tokens in front."""

    crafter: ClassVar[str] = "hotflip"


class HotFlipSpread(Carried):
    """White box: adversarial tokens all over the document."""

    crafter: ClassVar[str] = "hotflip_spread"
