"""What pairs of documents were found to say about each other, remembered by their texts.

A relation depends on two texts and their vectors alone, whatever else a round holds: sentence cosines are
exact (`gnn.round.on_grid`), and the networks of the lexical scorer add in double precision and round once. So
a remembered relation is the one that would be found again. (By a cross-encoder in float32 a last digit may
differ with the batch that a pair falls into.)
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
    """Relations by pair of documents. Safe for threads; a copy begins empty.

    Documents are told apart by text and vector, so that a memo serves several embedders. Where it would hold
    more than `limit` pairs, or documents of more than `most_bytes`, it drops all.
    """

    def __init__(self, limit: int = 300_000, most_bytes: int = 64 << 20) -> None:
        self._limit, self._most_bytes = limit, most_bytes
        self._lock = threading.Lock()
        self._documents: dict[tuple[str, bytes], int] = {}
        self._bytes = 0
        self._met = 0  # documents so far, those dropped included: a number is never given twice
        self._rows: dict[int, int] = {}
        self._found = Found.none(0)

    def __reduce__(self) -> tuple[type[RelationMemo], tuple[int, int]]:
        return type(self), (self._limit, self._most_bytes)

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
        if not len(one):
            return Recalled([], Found.none(0), _NOTHING)
        with self._lock:
            if self._bytes > self._most_bytes:
                self._drop()
            keys, rows = self._look_up(texts, vectors, one, other)
            if None not in rows:
                return Recalled(keys, self._found.at(np.array(rows, dtype=np.int64)), _NOTHING)
            if self._rows and len(self._rows) + rows.count(None) > self._limit:
                self._drop()
                keys, rows = self._look_up(texts, vectors, one, other)
            at = np.array([-1 if row is None else row for row in rows], dtype=np.int64)
            known = np.flatnonzero(at >= 0)
            found = Found.none(len(one))
            found.put(known, self._found.at(at[known]))
            return Recalled(keys, found, np.flatnonzero(at < 0))

    def learn(self, keys: Sequence[int], found: Found) -> None:
        """Remember the relations of these pairs, as many as there is room for."""
        with self._lock:
            fresh = {key: k for k, key in enumerate(keys) if key not in self._rows}  # a key may come twice
            start = len(self._rows)
            kept = dict(list(fresh.items())[: max(0, self._limit - start)])
            end = start + len(kept)
            if end > len(self._found.agree):
                grown = Found.none(2 * end)
                before = np.arange(start)
                grown.put(before, self._found.at(before))
                self._found = grown
            self._found.put(np.arange(start, end), found.at(np.array(list(kept.values()), dtype=np.int64)))
            self._rows.update(zip(kept, range(start, end), strict=True))

    def _drop(self) -> None:
        self._rows.clear()
        self._documents.clear()
        self._bytes = 0
        self._found = Found.none(0)

    def _look_up(
        self,
        texts: Sequence[str],
        vectors: NDArray[np.float32],
        one: NDArray[np.int64],
        other: NDArray[np.int64],
    ) -> tuple[list[int], list[int | None]]:
        """The key of each pair and where it stands, None for those not met yet."""
        number = self._numbers(texts, vectors)
        a, b = number[one], number[other]
        keys: list[int] = ((np.minimum(a, b) << _BITS) | np.maximum(a, b)).tolist()
        return keys, list(map(self._rows.get, keys))

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
                self._bytes += size + len(text)
            numbers.append(number)
        return np.array(numbers, dtype=np.int64)
