"""Masking the segments of documents one at a time and cutting those that carried the similarity.

Paper, section 3.2: with v the similarity of document and question and v' that of the document with a
segment masked, the segment stays if v' + delta > v. Each segment is masked alone, against the whole
document; the sanitized document lacks every segment that failed, and is scored again.

Left open by the paper and chosen here: a masked segment is taken out of the text (no mask token), so
that what is tested, scored again and handed on are texts of one kind. A document of one segment cannot
be judged: to mask it is to take everything away. A document whose every segment fails is left empty
and similar to nothing (similarity 0).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum

import numpy as np
from numpy.typing import NDArray
from pydantic import Field

from core.config import StrictModel
from core.embedding.base import Embedder
from core.errors import ConfigError
from defenses.ragmask.segments import Span, segments, without
from defenses.ragmask.token_model import TokenModel, token_model


class Mode(StrEnum):
    """How v' is computed."""

    EXACT = "exact"
    FAST = "fast"


class MaskConfig(StrictModel):
    """`segment`: m, tokens masked at a time. `delta` ≥ 0: a drop in similarity below it is forgiven;
    a negative one would cut segments whose absence changes nothing, and is refused. `mode`: `exact`
    embeds every masked text; `fast` leaves the segment's states out of the mean of one forward pass, so
    that the other states still know of it.
    """

    segment: int = Field(default=10, ge=1)
    delta: float = Field(default=0.01, ge=0.0)
    mode: Mode = Mode.EXACT


@dataclass(frozen=True, slots=True)
class Sanitized:
    """A document after masking.

    `spans` are its segments (characters), `drops` (n,) what the similarity lost without each, `cut` the
    numbers of those taken out; `before` and `after` the similarity of the text that came and of `text`.
    `judged` is false for a document of one segment or none.
    """

    text: str
    spans: tuple[Span, ...]
    drops: NDArray[np.float32]
    cut: tuple[int, ...]
    before: float
    after: float
    judged: bool = True


class Masker:
    """Sanitizes documents for a question.

    Raises:
        ConfigError: the fast mode with an embedder that shows no token states.
    """

    def __init__(self, config: MaskConfig, embedder: Embedder) -> None:
        self.config = config
        self._embedder = embedder
        self._tokens: TokenModel | None = token_model(embedder)
        if config.mode is Mode.FAST and self._tokens is None:
            raise ConfigError(
                f"mode 'fast' needs the token states of embedder 'minilm'; {embedder.identity} shows none: "
                "choose mode 'exact'"
            )

    def sanitize(
        self, query: NDArray[np.float32], texts: Sequence[str], before: NDArray[np.float32] | None = None
    ) -> list[Sanitized]:
        """Each of `texts` sanitized for the unit vector `query` (d,); `before` (n,) where known."""
        if not texts:
            return []
        if before is None:
            before = self._embedder.embed(texts) @ query
        spans = self._segments(texts)
        judged = [i for i, found in enumerate(spans) if len(found) > 1]
        scores = self._masked_scores(query, texts, spans, judged)
        drops = {i: np.float32(before[i]) - scores[i] for i in judged}
        cut = {i: tuple(np.flatnonzero(drops[i] >= self.config.delta).tolist()) for i in judged}
        clean = {i: without(texts[i], spans[i], cut[i]) for i in judged if cut[i]}
        left = [i for i, text in clean.items() if text]
        again = self._embedder.embed([clean[i] for i in left]) @ query if left else np.zeros(0, np.float32)
        after = {i: float(before[i]) for i in range(len(texts)) if i not in clean}
        after.update(zip(left, map(float, again), strict=True))
        return [
            Sanitized(
                text=clean.get(i, text),
                spans=tuple(spans[i]),
                drops=drops.get(i, np.zeros(len(spans[i]), np.float32)),
                cut=cut.get(i, ()),
                before=float(before[i]),
                after=after.get(i, 0.0),
                judged=i in drops,
            )
            for i, text in enumerate(texts)
        ]

    def _segments(self, texts: Sequence[str]) -> list[list[Span]]:
        tokens = None if self._tokens is None else self._tokens.tokens(texts)
        return [
            segments(text, self.config.segment, None if tokens is None else tokens[i])
            for i, text in enumerate(texts)
        ]

    def _masked_scores(
        self,
        query: NDArray[np.float32],
        texts: Sequence[str],
        spans: Sequence[Sequence[Span]],
        judged: Sequence[int],
    ) -> dict[int, NDArray[np.float32]]:
        """For each judged document the (segments,) similarities with one segment masked."""
        if self.config.mode is Mode.FAST and self._tokens is not None:
            states = self._tokens.states([texts[i] for i in judged])
            return {
                i: _pooled_without(query, vectors, offsets, spans[i])
                for i, (vectors, offsets) in zip(judged, states, strict=True)
            }
        variants = [without(texts[i], spans[i], (j,)) for i in judged for j in range(len(spans[i]))]
        if not variants:
            return {}
        scores = self._embedder.embed(variants) @ query
        ends = np.cumsum([len(spans[i]) for i in judged])
        return dict(zip(judged, np.split(scores, ends[:-1]), strict=True))


def _pooled_without(
    query: NDArray[np.float32],
    states: NDArray[np.float32],
    offsets: Sequence[Span],
    spans: Sequence[Span],
) -> NDArray[np.float32]:
    """(segments,) similarity of the mean of `states` (tokens, d) without each segment's tokens."""
    starts = np.array([start for start, _ in spans])
    at = np.array([start if end > start else -1 for start, end in offsets])
    owner = np.searchsorted(starts, at, side="right") - 1  # -1: special tokens, in no segment
    sums = np.zeros((len(spans), states.shape[1]), dtype=np.float32)
    inside = owner >= 0
    np.add.at(sums, owner[inside], states[inside])
    rest = states.sum(axis=0) - sums  # the mean's divisor goes with the norm
    norms = np.linalg.norm(rest, axis=1)
    return np.asarray(rest @ query / np.where(norms > 1e-12, norms, 1.0), dtype=np.float32)
