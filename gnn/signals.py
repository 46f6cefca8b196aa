"""Everything that is known about a round before the network sees it.

The order matters: the content channel judges texts alone; relations are gated by it, so that poisons
cannot corroborate each other; the source filter turns relations and flags into beliefs; beliefs and
relations give the verification credibility. The filter never sees the network's output, so a wrong
score cannot lock itself in.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from gnn.content import N_FEATURES, content_features
from gnn.credibility import tampering_evidence, verification_credibility
from gnn.inference.evidence import RoundEvidence, round_evidence
from gnn.inference.large import LargeSourceFilter
from gnn.inference.source_filter import EXACT_LIMIT, FilterConfig, SourceBeliefs, SourceFilter, Way
from gnn.inference.suspicion import content_levels
from gnn.relations.documents import DocumentRelations, relate
from gnn.relations.memo import RelationMemo
from gnn.relations.scorer import MLP, RelationScorer
from gnn.round import VerificationRound

_NO_OBJECTION = 9.0


@dataclass(frozen=True)
class Observed:
    """What a round of n documents shows before anything is believed about its sources; see `Signals`."""

    content: NDArray[np.float32]
    content_logit: NDArray[np.float64]
    margin: NDArray[np.float64]
    relations: DocumentRelations
    evidence: RoundEvidence


@dataclass(frozen=True)
class Signals:
    """What the channels say about n documents and m sources of one round.

    `content` (n, f) features and `content_logit` (n,), higher = sounder; `margin` is the logit minus
    the domain's threshold; `tampering` (n,) log-likelihood ratio altered : sound; `verification`
    (n,) credibility; `beliefs` posterior after the round,
    `way` its mean way of lying, `prior` what the next round starts from.
    """

    content: NDArray[np.float32]
    content_logit: NDArray[np.float64]
    margin: NDArray[np.float64]
    relations: DocumentRelations
    evidence: RoundEvidence
    beliefs: SourceBeliefs
    way: Way
    prior: SourceBeliefs
    any_honest: NDArray[np.float64]
    tampering: NDArray[np.float64]
    verification: NDArray[np.float64]

    @property
    def fused_logit(self) -> NDArray[np.float64]:
        """min(content margin, logit of verification): either channel alone may reject."""
        return np.minimum(self.margin, logit(self.verification))


def with_evidence(signals: Signals, evidence: NDArray[np.float64]) -> Signals:
    """`signals` after more evidence about single documents, (n,) log-likelihood ratio altered : sound.

    Only the verification of those documents changes: beliefs about sources stay, so that a judge of
    texts cannot accuse a source.
    """
    tampering = signals.tampering + evidence
    verification = verification_credibility(signals.any_honest, tampering, signals.way)
    touched = evidence != 0.0
    verification = np.where(touched, verification, signals.verification)
    return replace(signals, tampering=tampering, verification=verification)


def logit(p: NDArray[np.float64]) -> NDArray[np.float64]:
    """log(p / (1-p))."""
    return np.log(p) - np.log1p(-p)


def sigmoid(x: NDArray[np.float64]) -> NDArray[np.float64]:
    """1 / (1 + exp(-x)), safe at both ends."""
    return np.where(x >= 0, 1 / (1 + np.exp(-np.abs(x))), np.exp(-np.abs(x)) / (1 + np.exp(-np.abs(x))))


class Channels:
    """The channels with their learned parts.

    Args:
        relations: judges aligned sentences.
        content: network from content features to one logit (higher = sounder), None leaves it out.
        filter_config: constants of the source filter.
    """

    def __init__(
        self, relations: RelationScorer, content: MLP | None, filter_config: FilterConfig | None = None
    ) -> None:
        self.relations = relations
        self.content = content
        self.filter_config = filter_config or FilterConfig()
        self._memo = RelationMemo()
        self._exact = SourceFilter(self.filter_config)
        self._large = LargeSourceFilter(self.filter_config)

    def filter_for(self, m: int) -> SourceFilter:
        """The exact filter up to its limit, the large one above."""
        return self._exact if m <= EXACT_LIMIT else self._large

    def start(self, sources: tuple[str, ...]) -> SourceBeliefs:
        """Prior beliefs about `sources`."""
        return self.filter_for(len(sources)).start(sources)

    def run(self, given: VerificationRound, prior: SourceBeliefs, threshold: float) -> Signals:
        """All signals of one round; `prior.sources` must equal `given.sources`."""
        return self.judge(given, self.observe(given, threshold), prior)

    def observe(self, given: VerificationRound, threshold: float) -> Observed:
        """What one round shows, whatever is believed about its sources."""
        features, content_logit = self.content_logits(given)
        margin = content_logit - threshold if self.content is not None else content_logit
        trust = sigmoid(margin + 1.0).astype(np.float32)
        related = self.relate(given).gated(trust)
        evidence = round_evidence(related, given.holders, content_levels(given.holders, margin), trust)
        return Observed(features, content_logit, margin, related, evidence)

    def relate(self, given: VerificationRound) -> DocumentRelations:
        """What the documents of a round say about each other, pairs met before remembered."""
        return relate(self.relations, given, self._memo)

    def judge(self, given: VerificationRound, observed: Observed, prior: SourceBeliefs) -> Signals:
        """All signals of a round that was observed; `prior.sources` must equal `given.sources`."""
        if prior.sources != given.sources:
            raise ValueError(f"beliefs are about {prior.sources}, the round about {given.sources}")
        related, evidence = observed.relations, observed.evidence
        source_filter = self.filter_for(len(given.sources))
        beliefs = source_filter.update(prior, evidence)
        way = beliefs.expected(self.filter_config)
        any_honest = beliefs.any_honest(given.holders)
        tampering = tampering_evidence(related, evidence.scale, any_honest, way.noise)
        return Signals(
            content=observed.content,
            content_logit=observed.content_logit,
            margin=observed.margin,
            relations=related,
            evidence=evidence,
            beliefs=beliefs,
            way=way,
            prior=source_filter.predict(beliefs, evidence),
            any_honest=any_honest,
            tampering=tampering,
            verification=verification_credibility(any_honest, tampering, way),
        )

    def content_logits(self, given: VerificationRound) -> tuple[NDArray[np.float32], NDArray[np.float64]]:
        """(n, f) content features and (n,) logits; a large constant without a content channel."""
        if self.content is None:
            n = len(given.candidates)
            return np.zeros((n, N_FEATURES), dtype=np.float32), np.full(n, _NO_OBJECTION)
        features = content_features(given)
        return features, self.content(features)[:, 0].astype(np.float64)
