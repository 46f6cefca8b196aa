"""HotFlip in front of a document, and spread out over it (RAGPart paper, section 4)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import ClassVar, Literal

import numpy as np
from numpy.typing import NDArray
from pydantic import Field

from core.config import dump
from core.text import content_hash
from sim.attacks.base import AttackOptions
from sim.attacks.crafting import Carried
from sim.attacks.flip import FlipConfig, Template, flip
from sim.attacks.whitebox import MASK, WhiteBox, default_white_box

_MOST_TOKENS = 128  # planted: a document of which hardly anything is left has no meaning to keep


class HotFlipConfig(FlipConfig):
    """`tokens`: how many are planted (None: as many as the question has). `start`: they begin as the
    question's tokens, repeated until there are enough, or as mask tokens. `places`: runs of tokens that
    the spread-out attack makes of them, evenly over the document; as many as tokens: one by one.
    """

    tokens: int | None = Field(default=None, ge=1, le=_MOST_TOKENS)
    start: Literal["query", "mask"] = "query"
    places: int = Field(default=3, ge=1)


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

    def craft(self, question: str, document: str, rng: np.random.Generator, keep: str = "") -> str:
        """`rng` draws the slots that are looked at where there are more than candidates."""
        query = self.model.embed(question)
        plan = self._plan(self._start(question), document, keep)
        found = flip(self.model, plan.template, query, self.config, rng)
        return plan.text(self.model, found.ids)

    def _start(self, question: str) -> list[int]:
        asked = self.model.encode(question)[:_MOST_TOKENS] or [MASK]
        count = self.config.tokens or len(asked)
        if self.config.start == "mask":
            return [MASK] * count
        return (asked * -(-count // len(asked)))[:count]

    def _plan(self, planted: list[int], document: str, keep: str) -> Plan:
        ids = (*planted, *self.model.encode(document))
        slots = tuple(range(len(planted)))
        return Plan(Template(ids, slots), (slice(0, len(planted)), document))


class SpreadCrafter(HotFlipCrafter):
    """The same number of tokens in runs, spread evenly over the part of the document that is read.

    The paper says no more than that the tokens are spread; places, number and objective are ours. The
    first run opens the document.
    """

    layout: ClassVar[str] = "spread"

    def _plan(self, planted: list[int], document: str, keep: str) -> Plan:
        words = document.split()
        read = self.model.words_read(document, self.model.max_tokens - len(planted))
        free = _free_places(words[:read], keep)
        runs = np.array_split(planted, min(self.config.places, len(planted)))
        cuts = free[np.linspace(0, len(free) - 1, len(runs) + 1).astype(int)]
        ids: list[int] = []
        slots: list[int] = []
        parts: list[str | slice] = []
        for run, (start, stop) in zip(runs, pairwise(cuts.tolist()), strict=True):
            held = slice(len(ids), len(ids) + len(run))
            slots.extend(range(held.start, held.stop))
            parts.append(held)
            ids.extend(run.tolist())
            chunk = " ".join(words[start:stop])
            ids.extend(self.model.encode(chunk))
            parts.append(chunk)
        rest = " ".join(words[read:])
        return Plan(Template((*ids, *self.model.encode(rest)), tuple(slots)), (*parts, rest))


class HotFlip(Carried):
    """White box: adversarial tokens in front."""

    reads: ClassVar[frozenset[str]] = Carried.reads | {"iterations"}

    def crafter(self, options: AttackOptions) -> HotFlipCrafter:
        return HotFlipCrafter(HotFlipConfig(iterations=options.iterations))


class HotFlipSpread(HotFlip):
    """White box: adversarial tokens all over the document."""

    def crafter(self, options: AttackOptions) -> SpreadCrafter:
        return SpreadCrafter(HotFlipConfig(iterations=options.iterations))


def _plain(word: str) -> str:
    return "".join(letter for letter in word.lower() if letter.isalnum())


def _free_places(words: list[str], keep: str) -> NDArray[np.intp]:
    """Places 0..len(words) between words at which no occurrence of the phrase `keep` is cut."""
    free = np.ones(len(words) + 1, dtype=bool)
    plain, wanted = [_plain(word) for word in words], [_plain(word) for word in keep.split()]
    for start in range(len(words) - len(wanted) + 1) if len(wanted) > 1 else ():
        if plain[start : start + len(wanted)] == wanted:
            free[start + 1 : start + len(wanted)] = False
    return np.flatnonzero(free)
