"""Okapi BM25 over an inverted index of the node's own; needs neither vectors nor an embedder."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray
from pydantic import Field

from core.config import StrictModel, parse
from core.embedding.base import Embedder, Vectors
from core.records import Document
from core.text import content_words
from source_node.index import best, id_ranks, searchable
from source_node.postings import Postings
from source_node.retrievers.base import Hit


class BM25Options(StrictModel):
    """`k1`: how fast repeated words stop counting; `b`: how much long documents are held back."""

    k1: float = Field(default=1.2, ge=0.0, le=10.0)
    b: float = Field(default=0.75, ge=0.0, le=1.0)


class BM25Retriever:
    """score(d) = Σ_w idf(w) · f·(k1+1) / (f + k1·(1 - b + b·|d|/avg)), idf(w) = ln(1 + (N-n+½)/(n+½)).

    Stop words count neither in documents nor in questions.
    """

    uses_vectors: ClassVar[bool] = False
    independent_scores: ClassVar[bool] = False

    def __init__(
        self,
        documents: Sequence[Document],
        vectors: Vectors | None,
        embedder: Embedder | None,
        **options: Any,
    ) -> None:
        self.options = parse(BM25Options, options, "retriever 'bm25'")
        self._postings = Postings(searchable(document) for document in documents)
        self._ranks = id_ranks(documents)
        lengths = self._postings.lengths
        mean = float(lengths.mean()) if len(lengths) else 0.0
        relative = lengths / mean if mean else lengths
        self._damping = np.asarray(
            self.options.k1 * (1.0 - self.options.b + self.options.b * relative), dtype=np.float32
        )

    def scores(self, query_text: str, query_vector: NDArray[np.float32] | None) -> NDArray[np.float32]:
        """(n,) BM25 of every document, 0 where it shares no word with the question."""
        n = len(self._postings)
        total = np.zeros(n, dtype=np.float32)
        for word, times in Counter(content_words(query_text)).items():
            documents, counts = self._postings.of(word)
            if not len(documents):
                continue
            rarity = times * np.log1p((n - len(documents) + 0.5) / (len(documents) + 0.5))
            gain = counts * (self.options.k1 + 1.0) / (counts + self._damping[documents])
            total[documents] += (rarity * gain).astype(np.float32)
        return np.round(total, 6, out=total)

    def search(self, query_text: str, query_vector: NDArray[np.float32] | None, top_k: int) -> list[Hit]:
        """The `top_k` documents of highest score among those that share a word with the question."""
        scores = self.scores(query_text, query_vector)
        return [Hit(int(i), float(scores[i])) for i in best(scores, top_k, self._ranks) if scores[i] > 0]
