"""The rounds of a run in the compact form that the page's explorer reads."""

from __future__ import annotations

import zlib
from collections.abc import Sequence
from typing import Any

import numpy as np

from sim.report.load import RunData
from sim.report.numbers import LABELS
from sim.round_record import ReturnedDocument, RoundRecord

MOST_ROUNDS = 2_000
MOST_TEXT = 3_500_000  # bytes of all texts together once they are compressed; beyond, long ones are cut
_SHORTEST = 120  # characters to which a text is cut at most


def explorer(data: RunData) -> dict[str, Any]:
    """Rounds with interned texts, sources and verdicts.

    {"sources": [id], "texts": [text], "stages": [name], "fields": [name], "rounds": [...], "total": n}.
    A document is [source, doc_id, text, label, kept, rank, similarity, credibility, read, gold, trail];
    a trail is a position in the round's "trails", each a list of [stage, action, credibility, reason,
    [field, value, ...]]. Positions are indices into the lists; a text that nobody kept is -1.
    """
    return _Explorer(data).pack()


class _Explorer:
    def __init__(self, data: RunData) -> None:
        self._data = data
        self._sources = _Interned()
        self._texts = _Interned()
        self._stages = _Interned()
        self._fields = _Interned()
        self._reasons = _Interned()

    def pack(self) -> dict[str, Any]:
        rounds = [self._round(record) for record in evenly(self._data.rounds, MOST_ROUNDS)]
        texts = [self._data.texts[name] for name in self._texts.names]
        texts = within(texts, MOST_TEXT)
        return {
            "sources": self._sources.names,
            "texts": texts,
            "stages": self._stages.names,
            "fields": self._fields.names,
            "reasons": self._reasons.names,
            "labels": list(LABELS),
            "rounds": rounds,
            "total": len(self._data.rounds),
        }

    def _round(self, record: RoundRecord) -> dict[str, Any]:
        trails = _Interned()
        documents = [self._document(one, trails) for one in record.documents]
        before = self._data.before.get((record.trial, record.index))
        return {
            "trial": record.trial,
            "index": record.index,
            "query": record.query,
            "answers": list(record.answers),
            "target": record.target,
            "attacked": record.attacked,
            "malicious": [self._sources.place(name) for name in record.malicious_sources],
            "documents": documents,
            "trails": [list(map(list, trail)) for trail in trails.names],
            "edges": [list(edge) for edge in record.relations],
            "answer": record.answer,
            "outcome": outcome(record),
            "before": None if before is None else [before.answer, before.correct, before.target_given],
            "after": [record.correct, record.target_given],
            "failures": [[self._sources.place(one.source_id), one.kind] for one in record.failures],
            "errors": dict(record.stage_errors),
            "warnings": list(record.warnings),
            "plan": list(record.plan),
            "reliability": [
                [self._sources.place(name), _short(record.reliability_before.get(name)), _short(value)]
                for name, value in record.reliability_after.items()
            ],
        }

    def _document(self, one: ReturnedDocument, trails: _Interned) -> list[Any]:
        trail = tuple(
            (
                self._stages.place(verdict.stage),
                verdict.action,
                _short(verdict.credibility),
                self._reasons.place(verdict.reason),
                tuple(
                    part
                    for name, value in verdict.evidence.items()
                    for part in (self._fields.place(name), _short(value))
                ),
            )
            for verdict in one.verdicts
        )
        text = self._texts.place(one.text_hash) if one.text_hash in self._data.texts else -1
        return [
            self._sources.place(one.source_id),
            one.doc_id,
            text,
            LABELS.index(one.label),
            int(one.kept),
            one.rank,
            _short(one.similarity),
            _short(one.credibility),
            one.read,
            int(one.gold),
            trails.place(trail),
        ]


class _Interned:
    """Things by the order in which they were first seen."""

    def __init__(self) -> None:
        self._places: dict[Any, int] = {}

    @property
    def names(self) -> list[Any]:
        return list(self._places)

    def place(self, thing: Any) -> int:
        return self._places.setdefault(thing, len(self._places))


def within(texts: list[str], most: int) -> list[str]:
    """`texts`, the long ones cut so that all together compress to about `most` bytes."""
    packed = len(zlib.compress("\n".join(texts).encode("utf-8", "replace"), 1))
    if packed <= most:
        return texts
    room = sum(map(len, texts)) * most / packed
    limit, left = room, sorted(map(len, texts))
    for i, size in enumerate(left):  # the limit that leaves `room`: short texts keep their whole length
        limit = room / (len(left) - i)
        if size > limit:
            break
        room -= size
    limit = max(_SHORTEST, int(limit))
    return [text if len(text) <= limit else text[:limit] + " …" for text in texts]


def outcome(record: RoundRecord) -> str:
    """What became of a question: refused, poisoned, right, abstained, wrong or unjudged."""
    if record.refused:
        return "refused"
    if record.attack_success:
        return "poisoned"
    if record.correct:
        return "right"
    if record.abstained:
        return "abstained"
    return "unjudged" if record.correct is None else "wrong"


def evenly(rounds: Sequence[RoundRecord], most: int) -> list[RoundRecord]:
    """`rounds`, or `most` of them at even distances."""
    if len(rounds) <= most:
        return list(rounds)
    return [rounds[int(i)] for i in np.linspace(0, len(rounds) - 1, most)]


def _short(value: float | None) -> float | None:
    return None if value is None else round(value, 3)
