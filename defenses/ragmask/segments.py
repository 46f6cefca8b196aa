"""Cutting a text into segments of about m tokens, on word boundaries."""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Collection, Sequence

Span = tuple[int, int]
_WORD = re.compile(r"\S+")


def segments(text: str, length: int, tokens: Sequence[Span] | None = None) -> list[Span]:
    """(start, end) character spans of runs of whole words with `length` tokens or a few more.

    A word counts as many tokens as begin in it; without `tokens` ((start, end) of each token that the
    embedder reads) every word is one. What lies beyond the last token is in no segment: the embedder
    does not read it, so no mask could change a score.
    """
    starts = [start for start, _ in tokens] if tokens is not None else None
    spans: list[Span] = []
    begin, held = -1, 0
    for match in _WORD.finditer(text):
        if starts is None:
            count = 1
        else:
            count = bisect_right(starts, match.end() - 1) - bisect_right(starts, match.start() - 1)
            if not count and match.start() >= (starts[-1] if starts else 0):
                break
        begin = match.start() if begin < 0 else begin
        held += count
        end = match.end()
        if held >= length:
            spans.append((begin, end))
            begin, held = -1, 0
    if held:
        spans.append((begin, end))
    return spans


def without(text: str, spans: Sequence[Span], cut: Collection[int]) -> str:
    """`text` without the segments numbered `cut`; one blank where something went."""
    if not cut:
        return text
    pieces, at = [], 0
    for i in sorted(cut):
        start, end = spans[i]
        pieces.append(text[at:start].strip())
        at = end
    pieces.append(text[at:].strip())
    return " ".join(piece for piece in pieces if piece)
