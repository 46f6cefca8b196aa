"""Attackers that know the defense: the levels of TRIS's taxonomy (arXiv 2609.00470, section 3.2).

Level 0 is PoisonedRAG as it stands. Level 1 knows the architecture: paraphrased trigger, encyclopedic
payload. Level 2 also knows the judge: the text is built for rank under the retriever and for the honest
majority's place under the judge at once. Level 3 knows everything: the thresholds of layer 2, and that
layer 3 spares what looks like an update of the model's belief. The paper evaluates level 1 only and
leaves 2 and 3 open: how they are built here is ours. `scr_l2` and `scr_l3` are their counterparts
against the SCR verifier (`sim.attacks.adaptive_scr`).
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from functools import lru_cache
from typing import ClassVar

import numpy as np

from core.embedding.base import Embedder, unit_rows
from core.embedding.cache import CachedEmbedder
from defenses.tris.prefix import PrefixCheck
from sim.attacks.adaptive_text import encyclopedic, longest_trigger, paraphrased_trigger
from sim.attacks.assertion import payload_texts
from sim.attacks.base import BaseAttack, Kind, Payloads
from sim.attacks.neighbourhood import Neighbourhood, neighbourhood
from sim.corpora.records import Poison, Question

_TEXTS = 5
_MOST_SENTENCES = 6  # borrowed ones per text
_CLEAR = 0.5  # overlap with the question that no sensible threshold rejects


class AdaptiveAttack(BaseAttack, ABC):
    """Shared by the levels: a target and its claims, written up by `write`."""

    kind: ClassVar[Kind] = "inject"
    reads: ClassVar[frozenset[str]] = frozenset({"collude", "per_source", "reword", "samples"})

    def payloads(self, question: Question, poison: Poison | None, rng: np.random.Generator) -> Payloads:
        """Up to five texts, as many as are asked of a source where all collude."""
        if poison is not None:
            target, claims = poison.target_answer, poison.texts
        else:
            target = self.context.view.answers.wrong_answer(question, rng)
            claims = payload_texts(question.text, target, _TEXTS, rng)
        options = self.context.options
        count = _TEXTS if not options.collude else min(_TEXTS, options.per_source or _TEXTS)
        return Payloads(target, tuple(self.write(question, target, claims[:count], rng)))

    @abstractmethod
    def write(
        self, question: Question, target: str, claims: Sequence[str], rng: np.random.Generator
    ) -> list[str]:
        """A text for each claim."""


class ArchitectureAware(AdaptiveAttack):
    """Level 1: passes layer 2 by a paraphrased trigger and reads like an encyclopedia's entry."""

    reads: ClassVar[frozenset[str]] = frozenset({"collude", "per_source", "reword"})

    def write(
        self, question: Question, target: str, claims: Sequence[str], rng: np.random.Generator
    ) -> list[str]:
        return [
            f"{paraphrased_trigger(question.text, rng)} {encyclopedic(question.text, claim, rng)}"
            for claim in claims
        ]


class JudgeAware(AdaptiveAttack):
    """Level 2: joint ascent of rank under the retriever and of closeness to the honest cluster.

    To each of `samples` drafts, sentences of honest documents near the question are added one by one,
    the one that helps cos(text, question) + cos(text, honest centre) most by the mean of sentence
    vectors; every state on the way is then embedded exactly, and of those whose beginning shares at
    most half of the question's wording the best is taken. Retriever and judge are the embedded default
    here, the attacker's best case.
    """

    def write(
        self, question: Question, target: str, claims: Sequence[str], rng: np.random.Generator
    ) -> list[str]:
        around = neighbourhood(
            question.text, self.context.view.runs, {*question.answers, target}, attack_embedder()
        )
        return [self._best(question, claim, target, around, rng) for claim in claims]

    def draft(self, question: Question, claim: str, target: str, rng: np.random.Generator) -> list[str]:
        """Sentences that a text starts from; `target` stands in them where it stands in `claim`."""
        return [paraphrased_trigger(question.text, rng), claim]

    def finish(self, question: Question, pieces: Sequence[str]) -> str:
        """The text of `pieces`: the claim in the middle of the borrowed sentences, behind the prefix."""
        trigger, claim, *borrowed = pieces
        middle = (len(borrowed) + 1) // 2
        return " ".join([trigger, *borrowed[:middle], claim, *borrowed[middle:]])

    def passes(self, question: Question, text: str) -> bool:
        """Whether `text` keeps clear of layer 2, whose threshold this attacker does not know."""
        return PrefixCheck(question.text).measure(text).largest <= _CLEAR

    def _best(
        self, question: Question, claim: str, target: str, around: Neighbourhood, rng: np.random.Generator
    ) -> str:
        embedder = attack_embedder()
        texts: list[str] = []
        limit = max(self.context.view.median_words, len(claim.split()) + 20)
        for _ in range(min(self.context.options.samples, 4)):
            for pieces in grow(self.draft(question, claim, target, rng), around, embedder, limit):
                texts.append(self.finish(question, pieces))
        clear = [text for text in texts if self.passes(question, text)]
        if not clear:
            check = PrefixCheck(question.text)
            clear = [min(texts, key=lambda text: check.measure(text).largest)]
        texts = clear
        vectors = embedder.embed(texts)
        return texts[int(np.argmax(vectors @ around.query + vectors @ around.centre))]


class WhiteBoxTris(JudgeAware):
    """Level 3: keeps as much of the question as layer 2 lets pass, and calls its claim an update."""

    def draft(self, question: Question, claim: str, target: str, rng: np.random.Generator) -> list[str]:
        return [encyclopedic(question.text, claim, rng, update=True)]

    def passes(self, question: Question, text: str) -> bool:
        check = PrefixCheck(question.text)
        return not check.rejects(check.measure(text))

    def finish(self, question: Question, pieces: Sequence[str]) -> str:
        rest = " ".join(pieces)
        return f"{longest_trigger(question.text, PrefixCheck(question.text), rest)} {rest}".strip()


def grow(draft: Sequence[str], around: Neighbourhood, embedder: Embedder, limit: int) -> list[list[str]]:
    """`draft` and its extensions by one honest sentence after the other, up to `limit` words."""
    goal = around.query + around.centre
    lengths = np.array([len(s.split()) for s in around.sentences], dtype=np.float64)
    own = embedder.embed(list(draft))
    weights = np.array([len(s.split()) for s in draft], dtype=np.float64)
    total = (own * weights[:, None]).sum(0)
    words = float(weights.sum())
    states = [list(draft)]
    free = np.ones(len(around.sentences), dtype=bool)
    while len(states) <= _MOST_SENTENCES:
        open_ = free & (words + lengths <= limit)
        if not open_.any():
            break
        sums = total[None, :] + around.sentence_vectors * lengths[:, None]
        gain = np.where(open_, unit_rows(sums) @ goal, -np.inf)
        chosen = int(gain.argmax())
        free[chosen] = False
        total = sums[chosen]
        words += lengths[chosen]
        states.append([*states[-1], around.sentences[chosen]])
    return states


@lru_cache(maxsize=1)
def attack_embedder() -> Embedder:
    """The embedded default model behind a cache in memory, loaded once a process."""
    from sim.attacks.whitebox import default_white_box

    return CachedEmbedder(default_white_box().embedder, memory=50_000)
