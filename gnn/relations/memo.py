"""What pairs of documents were found to say about each other, remembered by their texts.

A relation depends on two texts and their vectors alone, whatever else a round holds: sentence cosines are
exact (`gnn.round.on_grid`) and the networks add in double precision. So a remembered relation is the one
that would be found again.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

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


class RelationMemo:
    """Relations by pair of documents; when `limit` pairs are reached all are dropped.

    Documents are told apart by text and vector, so that a memo serves several embedders.
    """

    def __init__(self, limit: int = 300_000) -> None:
        self._limit = limit
        self._documents: dict[tuple[str, bytes], int] = {}
        self._rows: dict[int, int] = {}
        self._found = Found.none(0)

    def __len__(self) -> int:
        return len(self._rows)

    def keys(
        self,
        texts: Sequence[str],
        vectors: NDArray[np.float32],
        one: NDArray[np.int64],
        other: NDArray[np.int64],
    ) -> list[int]:
        """A number for each of the pairs `one[k]`, `other[k]` of documents, the same in either order."""
        if len(self._rows) + len(one) > self._limit:
            self._rows.clear()
            self._documents.clear()
            self._found = Found.none(0)
        size = vectors.shape[1] * vectors.itemsize
        raw = np.ascontiguousarray(vectors).tobytes()
        known = self._documents
        number = np.array(
            [
                known.setdefault((text, raw[size * i : size * (i + 1)]), len(known))
                for i, text in enumerate(texts)
            ],
            dtype=np.int64,
        )
        a, b = number[one], number[other]
        keys: list[int] = ((np.minimum(a, b) << _BITS) | np.maximum(a, b)).tolist()
        return keys

    def rows(self, keys: Sequence[int]) -> list[int | None]:
        """Where each pair stands, None for those not met yet."""
        return list(map(self._rows.get, keys))

    def take(self, rows: Sequence[int | None]) -> Found:
        """The relations that stand at `rows`."""
        return self._found.at(np.array(rows, dtype=np.int64))

    def learn(self, keys: Sequence[int], found: Found) -> None:
        """Remember the relations of pairs that were not known."""
        start, end = len(self._rows), len(self._rows) + len(keys)
        if end > len(self._found.agree):
            grown = Found.none(2 * end)
            kept = np.arange(start)
            grown.put(kept, self._found.at(kept))
            self._found = grown
        self._found.put(np.arange(start, end), found)
        self._rows.update(zip(keys, range(start, end), strict=True))
