"""An inverted index in flat arrays: 6 bytes a posting, built in pieces of bounded size."""

from __future__ import annotations

from array import array
from collections import Counter
from collections.abc import Iterable

import numpy as np
from numpy.typing import NDArray

from core.text import content_words

_CHUNK = 1 << 17  # postings sorted at once
_MAX_COUNT = 65_535


class Postings:
    """Which documents hold a word, and how often.

    Shapes: `lengths` (n,) float32, words without stop words of each document.
    """

    def __init__(self, texts: Iterable[str]) -> None:
        self._words: dict[str, int] = {}
        terms, counts, sizes, lengths = array("i"), array("H"), array("i"), array("i")
        for text in texts:
            found = Counter(content_words(text))
            for word, count in found.items():
                terms.append(self._words.setdefault(word, len(self._words)))
                counts.append(min(count, _MAX_COUNT))
            sizes.append(len(found))
            lengths.append(found.total())
        self.lengths = np.array(lengths, dtype=np.float32)
        self._arrange(_view(terms, np.int32), _view(counts, np.uint16), _view(sizes, np.int32))

    def __len__(self) -> int:
        return len(self.lengths)

    def of(self, word: str) -> tuple[NDArray[np.int32], NDArray[np.uint16]]:
        """(documents, counts) of `word`, documents ascending; both empty where no document holds it."""
        term = self._words.get(word)
        span = slice(0, 0) if term is None else slice(self._starts[term], self._starts[term + 1])
        return self._documents[span], self._counts[span]

    @property
    def nbytes(self) -> int:
        """Bytes of the arrays (the words themselves come on top)."""
        return sum(a.nbytes for a in (self._starts, self._documents, self._counts, self.lengths))

    def _arrange(
        self, terms: NDArray[np.int32], counts: NDArray[np.uint16], sizes: NDArray[np.int32]
    ) -> None:
        """Counting sort by word, stable, so that documents ascend within a word."""
        self._starts = np.zeros(len(self._words) + 1, dtype=np.int64)
        np.cumsum(np.bincount(terms, minlength=len(self._words)), out=self._starts[1:])
        self._documents = np.empty(len(terms), dtype=np.int32)
        self._counts = np.empty(len(terms), dtype=np.uint16)
        ends = np.cumsum(sizes, dtype=np.int64)
        free = self._starts[:-1].copy()
        for start in range(0, len(terms), _CHUNK):
            chunk = terms[start : start + _CHUNK]
            order = np.argsort(chunk, kind="stable")
            ordered = chunk[order]
            first = np.searchsorted(ordered, ordered, side="left")
            targets = free[ordered] + np.arange(len(ordered)) - first
            places = start + order
            self._documents[targets] = np.searchsorted(ends, places, side="right")
            self._counts[targets] = counts[places]
            present, found = np.unique(ordered, return_counts=True)
            free[present] += found


def _view(values: array, dtype: type) -> NDArray:
    return np.frombuffer(values, dtype=dtype) if values else np.empty(0, dtype=dtype)
