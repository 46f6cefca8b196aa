"""Layer 2 of TRIS: a document that begins with the question was written for the retriever."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

from core.text import first_words, jaccard, ngrams, words


class Overlap(NamedTuple):
    """How much of the question stands at the beginning of a document; shares in [0,1]."""

    jaccard: float
    bigrams: float
    trigrams: float
    repeats: int

    @property
    def largest(self) -> float:
        """The largest of the three shares."""
        return max(self.jaccard, self.bigrams, self.trigrams)


@dataclass(frozen=True)
class PrefixCheck:
    """Compares the first `prefix_tokens` words of documents with one question (paper, section 4).

    Words are lower-cased. A document is rejected where Jaccard, or the share of the question's bigrams
    or trigrams in the prefix, reaches `overlap`, or where the question's first `trigger_tokens` words
    stand in the prefix at least `repeats` times.
    """

    question: str
    prefix_tokens: int = 20
    overlap: float = 0.8
    trigger_tokens: int = 12
    repeats: int = 2

    @cached_property
    def _asked(self) -> list[str]:
        return words(self.question)

    @cached_property
    def _grams(self) -> tuple[set[tuple[str, ...]], set[tuple[str, ...]]]:
        return set(ngrams(self._asked, 2)), set(ngrams(self._asked, 3))

    def measure(self, text: str) -> Overlap:
        """Overlap of `text` with the question."""
        prefix = first_words(text, self.prefix_tokens)
        trigger = " ".join(self._asked[: self.trigger_tokens])
        return Overlap(
            jaccard(self._asked, prefix),
            _share(self._grams[0], prefix, 2),
            _share(self._grams[1], prefix, 3),
            f" {' '.join(prefix)} ".count(f" {trigger} ") if trigger else 0,
        )

    def rejects(self, found: Overlap) -> bool:
        """Whether an overlap reaches a threshold."""
        return found.largest >= self.overlap or found.repeats >= self.repeats


def _share(wanted: set[tuple[str, ...]], prefix: list[str], n: int) -> float:
    """Share of the question's distinct n-grams that stand in the prefix; 0 where it has none."""
    return len(wanted & set(ngrams(prefix, n))) / len(wanted) if wanted else 0.0
