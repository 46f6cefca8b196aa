"""Levels 2 and 3 against the SCR verifier: built for its content channel, or for its own verdict."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from core.records import Candidate, DocumentKey
from core.seeding import derive_seed
from core.text import contains_answer
from sim.attacks.adaptive import JudgeAware, attack_embedder
from sim.attacks.neighbourhood import Neighbourhood, neighbourhood
from sim.attacks.reword import reword
from sim.corpora.records import Question

if TYPE_CHECKING:
    from gnn.scorer import CredibilityScorer

_SOURCES = 10
_MALICIOUS = 4


class ScrJudgeAware(JudgeAware):
    """Level 2 against SCR: no question string, every copy in other words, the claim inside the text.

    The verifier's content channel looks for text made to be retrieved and for near-copies; this attacker
    knows that and nothing of its weights.
    """

    def draft(self, question: Question, claim: str, target: str, rng: np.random.Generator) -> list[str]:
        told = reword(claim, derive_seed(int(rng.integers(2**31)), "claim"))
        return [told if contains_answer(told, target) else claim]

    def passes(self, question: Question, text: str) -> bool:
        return question.text.lower() not in text.lower()

    def finish(self, question: Question, pieces: Sequence[str]) -> str:
        """The claim stands in the middle of the borrowed sentences."""
        claim, *borrowed = pieces
        middle = (len(borrowed) + 1) // 2
        return " ".join([*borrowed[:middle], claim, *borrowed[middle:]])


class WhiteBoxScr(ScrJudgeAware):
    """Level 3 against SCR: of `samples` sets of texts the one that the shipped verifier believes most.

    Each set is judged in a round as the attacker expects it: four of ten sources return the set, the
    others what honest documents stand near the question. The channels decide, without the network
    (which needs torch-geometric).
    """

    def write(
        self, question: Question, target: str, claims: Sequence[str], rng: np.random.Generator
    ) -> list[str]:
        around = neighbourhood(
            question.text, self.context.view.runs, {*question.answers, target}, attack_embedder()
        )
        sets = [
            [self._best(question, claim, target, around, rng) for claim in claims]
            for _ in range(self.context.options.samples)
        ]
        scorer = _scorer()
        return max(sets, key=lambda texts: believed(scorer, question.text, texts, around))


def believed(scorer: CredibilityScorer, question: str, texts: Sequence[str], around: Neighbourhood) -> float:
    """Mean credibility of `texts` in a first round among the honest documents of `around`, in [0,1]."""
    liars = [f"source-{i:02d}" for i in range(_MALICIOUS)]
    honest = [f"source-{i:02d}" for i in range(_MALICIOUS, _SOURCES)]
    candidates = []
    for i, text in enumerate(dict.fromkeys(texts)):
        holders = tuple(DocumentKey(source, f"poison-{i}") for source in liars)
        candidates.append(Candidate(holders[0], text, holders=holders, rank=i + 1))
    count = len(candidates)
    for i, text in enumerate(t for t in dict.fromkeys(around.texts) if t not in texts):
        key = DocumentKey(honest[i % len(honest)], f"honest-{i}")
        candidates.append(Candidate(key, text, holders=(key,), rank=count + i + 1))
    scored = scorer.verify(question, candidates, attack_embedder())
    return float(np.mean(scored.credibility[:count])) if count else 0.0


def _scorer() -> CredibilityScorer:
    from gnn.scorer import CredibilityScorer

    return CredibilityScorer(network=False)
