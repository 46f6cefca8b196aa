"""What a run keeps of its verification graphs: which documents a verifier found to agree or to conflict."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from core.pipeline import Pipeline
from core.records import Candidate, DocumentKey
from gnn.round import VerificationRound
from gnn.signals import Signals

WEAK = 0.05  # a relation that counts for less moved nothing
MOST = 300  # relations kept of a round, strongest first


class Relation(NamedTuple):
    """An edge between two documents; strengths in [0,1], already weighed by what the texts are trusted."""

    left: DocumentKey
    right: DocumentKey
    agree: float
    conflict: float


class RelationWatch:
    """Looks over the shoulder of the verifying stages of `pipeline` and remembers the last round's relations.

    Nothing that a stage computes changes by it. Only stages with a `scorer` that has `channels` relate
    documents; with any other pipeline nothing is ever seen.
    """

    def __init__(self, pipeline: Pipeline) -> None:
        self._seen: tuple[Relation, ...] = ()
        for place in pipeline.stages:
            scorer: Any = getattr(place.stage, "scorer", None)
            if hasattr(scorer, "channels"):
                scorer.channels = _Watched(scorer.channels, self._see)

    def take(self) -> tuple[Relation, ...]:
        """The relations since the last call, which are forgotten by it."""
        seen, self._seen = self._seen, ()
        return seen

    def _see(self, given: VerificationRound, signals: Signals) -> None:
        self._seen = relations_of(given.candidates, signals)


class _Watched:
    """Channels whose signals are shown to `see` on their way out."""

    def __init__(self, channels: Any, see: Any) -> None:
        self._channels = channels
        self._see = see

    def __getattr__(self, name: str) -> Any:
        return getattr(self._channels, name)

    def run(self, given: VerificationRound, *rest: Any, **named: Any) -> Signals:
        signals: Signals = self._channels.run(given, *rest, **named)
        self._see(given, signals)
        return signals


def relations_of(candidates: Sequence[Candidate], signals: Signals) -> tuple[Relation, ...]:
    """The relations of a round that count, strongest first."""
    agree, conflict = signals.relations.agree, signals.relations.conflict
    left, right = np.nonzero(np.triu(agree + conflict, 1) >= WEAK)
    strength = agree[left, right] + conflict[left, right]
    order = np.argsort(-strength, kind="stable")[:MOST]
    return tuple(
        Relation(
            candidates[i].key,
            candidates[j].key,
            round(float(agree[i, j]), 3),
            round(float(conflict[i, j]), 3),
        )
        for i, j in zip(left[order].tolist(), right[order].tolist(), strict=True)
    )


def by_position(
    relations: Sequence[Relation], positions: Mapping[DocumentKey, int]
) -> tuple[tuple[int, int, float, float], ...]:
    """Relations between the documents of a record, each end given by its position in it."""
    return tuple(
        (positions[one.left], positions[one.right], one.agree, one.conflict)
        for one in relations
        if one.left in positions and one.right in positions
    )
