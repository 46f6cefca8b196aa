"""A text with its sentences located, for tactics that edit in place."""

from __future__ import annotations

import re
from bisect import bisect_right
from dataclasses import dataclass

from sim.attacks.lexicon import Lexicon, Name, names_in

_END = re.compile(r"(?<=[.!?])[\"'”’)\]]*\s+(?=[\"'“‘(\[]?[A-Z0-9À-Þ])|\n+")
_SHORT = re.compile(r"(?:\b(?:Mr|Mrs|Ms|Dr|Prof|St|Jr|Sr|vs|etc|No|al|Inc|Ltd|Co|Corp|i\.e|e\.g)|\b[A-Z])\.$")


@dataclass(frozen=True, slots=True)
class Edit:
    """Replace `start:end` of a text by `text`."""

    start: int
    end: int
    text: str


class Passage:
    """`spans`: (start, end) of each sentence; `main`: index of the sentence that carries the point."""

    def __init__(self, text: str, lexicon: Lexicon) -> None:
        self.text = text
        self.lexicon = lexicon
        self.spans = sentence_spans(text)
        self._starts = [start for start, _ in self.spans]
        self._names: list[Name] | None = None

    @property
    def main(self) -> int:
        """The last sentence of a long text that ends with its conclusion (abstracts), else the first."""
        tail = self.text[self._starts[-1] :] if self.spans else ""
        concluding = re.search(r"\b(?:conclu|suggest|indicat|appears?|support|should|findings)", tail)
        return len(self.spans) - 1 if len(self.spans) >= 6 and concluding else 0

    @property
    def names(self) -> list[Name]:
        """Capitalised names of the text."""
        if self._names is None:
            self._names = names_in(self.text)
        return self._names

    def sentence_of(self, edit: Edit) -> int:
        """Index of the sentence in which `edit` starts."""
        return max(0, bisect_right(self._starts, edit.start) - 1)

    def opens(self, start: int) -> bool:
        """Whether `start` is the first place of a sentence."""
        return start in self._starts


def sentence_spans(text: str) -> list[tuple[int, int]]:
    """(start, end) of each sentence of `text`, white space between them in none."""
    spans: list[tuple[int, int]] = []
    start = 0
    for match in _END.finditer(text):
        if "\n" not in match.group() and _SHORT.search(text[max(start, match.start() - 8) : match.start()]):
            continue
        spans.append((start, match.start()))
        start = match.end()
    spans.append((start, len(text.rstrip())))
    return [(begin, end) for begin, end in spans if text[begin:end].strip()]
