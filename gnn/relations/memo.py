"""What pairs of documents were found to say about each other, remembered by their texts.

A relation depends on two texts and their vectors alone, whatever else a round holds: sentence cosines are
exact (`gnn.round.on_grid`) and the networks add in double precision. So a remembered relation is the one
that would be found again.
"""

from __future__ import annotations

import threading
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

_NOTHING = np.zeros(0, dtype=np.int64)
_BITS = 31  # of a document's number: two of them in one integer, which is looked up faster than a tuple


class Found(NamedTuple):
    """Relations of k pairs of documents: `agree`, `conflict` (k,) in [0,1], and `aligned` sentence pairs."""

    agree: NDArray[np.float32]
    conflict: NDArray[np.float32]
    aligned: NDArray[np.int64]

    @classmethod
    def none(cls, k: int) -> Found:
        """K pairs that say nothing about each other."""
        return cls(np.zeros(k, np.float32), np.zeros(k, np.float32), np.zeros(k, np.int64))

    def at(self, places: NDArray[np.int64]) -> Found:
        """The relations at these places."""
        return Found(self.agree[places], self.conflict[places], self.aligned[places])

    def put(self, places: NDArray[np.int64], found: Found) -> None:
        """Write `found` at these places."""
        self.agree[places], self.conflict[places], self.aligned[places] = found


class Recalled(NamedTuple):
    """What is known of p pairs: their `keys`, what was `found` of them, and which are `new`."""

    keys: list[int]
    found: Found
    new: NDArray[np.int64]


class RelationMemo:
    """Relations by pair of documents, at most `limit`: for more, all are dropped. Safe for threads.

    Documents are told apart by text and vector, so that a memo serves several embedders.
    """

    def __init__(self, limit: int = 300_000) -> None:
        self._limit = limit
        self._lock = threading.Lock()
        self._documents: dict[tuple[str, bytes], int] = {}
        self._met = 0  # documents so far, those dropped included: a number is never given twice
        self._rows: dict[int, int] = {}
        self._found = Found.none(0)

    def __len__(self) -> int:
        return len(self._rows)

    def recall(
        self,
        texts: Sequence[str],
        vectors: NDArray[np.float32],
        one: NDArray[np.int64],
        other: NDArray[np.int64],
    ) -> Recalled:
        """What is known of the pairs `one[k]`, `other[k]` of n documents, in either order."""
        with self._lock:
            if len(self._rows) + len(one) > self._limit:
                self._rows.clear()
                self._documents.clear()
                self._found = Found.none(0)
            number = self._numbers(texts, vectors)
            a, b = number[one], number[other]
            keys: list[int] = ((np.minimum(a, b) << _BITS) | np.maximum(a, b)).tolist()
            rows = list(map(self._rows.get, keys))
            if None not in rows:
                return Recalled(keys, self._found.at(np.array(rows, dtype=np.int64)), _NOTHING)
            found = Found.none(len(one))
            known = np.array([k for k, row in enumerate(rows) if row is not None], dtype=np.int64)
            found.put(
                known, self._found.at(np.array([row for row in rows if row is not None], dtype=np.int64))
            )
            new = np.array([k for k, row in enumerate(rows) if row is None], dtype=np.int64)
            return Recalled(keys, found, new)

    def learn(self, keys: Sequence[int], found: Found) -> None:
        """Remember the relations of these pairs."""
        with self._lock:
            fresh = [k for k, key in enumerate(keys) if key not in self._rows]
            start, end = len(self._rows), len(self._rows) + len(fresh)
            if end > len(self._found.agree):
                grown = Found.none(2 * end)
                kept = np.arange(start)
                grown.put(kept, self._found.at(kept))
                self._found = grown
            self._found.put(np.arange(start, end), found.at(np.array(fresh, dtype=np.int64)))
            self._rows.update(zip((keys[k] for k in fresh), range(start, end), strict=True))

    def _numbers(self, texts: Sequence[str], vectors: NDArray[np.float32]) -> NDArray[np.int64]:
        """(n,) the number of each document."""
        size = vectors.shape[1] * vectors.itemsize
        raw = np.ascontiguousarray(vectors).tobytes()
        numbers = []
        for i, text in enumerate(texts):
            document = (text, raw[size * i : size * (i + 1)])
            number = self._documents.get(document)
            if number is None:
                number = self._documents[document] = self._met
                self._met += 1
            numbers.append(number)
        return np.array(numbers, dtype=np.int64)
