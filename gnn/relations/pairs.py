"""Aligned sentences of pairs of documents, the form in which a `RelationScorer` takes them."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray


@dataclass(frozen=True)
class SentencePairs:
    """p aligned sentences of k pairs of documents.

    `first`, `second` (p,) index `sentences`; `documents` (k, 2) are the pairs of documents, the lower number
    first, and `place` (p,) in 0..k-1 says whose a row is, each k in it. `names` (k,) are stems of what both
    documents are about, which says nothing about a single fact. `context` (p, len(CONTEXT_FEATURES)):
    sentence cosine, mutual best match (0/1), cosine of the documents, and how far their subjects are the
    same (`gnn.relations.subjects`).
    """

    sentences: list[str]
    first: NDArray[np.int64]
    second: NDArray[np.int64]
    documents: NDArray[np.int64]
    place: NDArray[np.int64]
    names: list[frozenset[str]]
    context: NDArray[np.float32]

    def __len__(self) -> int:
        return len(self.first)

    def texts(self) -> list[tuple[str, str]]:
        """Both sentences of each row."""
        return [(self.sentences[a], self.sentences[b]) for a, b in zip(self.first, self.second, strict=True)]

    def rows(self, kept: NDArray[np.int64]) -> SentencePairs:
        """Only the rows `kept`, with the documents that they leave."""
        used, place = np.unique(self.place[kept], return_inverse=True)
        return SentencePairs(
            self.sentences,
            self.first[kept],
            self.second[kept],
            self.documents[used],
            place,
            [self.names[k] for k in used.tolist()],
            self.context[kept],
        )
