"""A retriever: words of the question in a document's title."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from core.config import StrictModel, parse
from core.embedding.base import Embedder, Vectors
from core.records import Document
from core.text import content_words
from source_node.retrievers.base import Hit


class TitleOptions(StrictModel):
    """`minimum`: the fewest words of the question that a title must share."""

    minimum: int = 1


class TitleRetriever:
    """Most shared words first, ties by document id."""

    uses_vectors: ClassVar[bool] = False

    def __init__(
        self,
        documents: Sequence[Document],
        vectors: Vectors | None,
        embedder: Embedder | None,
        **options: Any,
    ) -> None:
        self.options = parse(TitleOptions, options, "retriever 'titles'")
        self._ids = [document.doc_id for document in documents]
        self._titles = [frozenset(content_words(document.title)) for document in documents]

    def search(self, query_text: str, query_vector: NDArray[np.float32] | None, top_k: int) -> list[Hit]:
        asked = frozenset(content_words(query_text))
        shared = [len(asked & title) for title in self._titles]
        found = [i for i, count in enumerate(shared) if count >= self.options.minimum]
        found.sort(key=lambda i: (-shared[i], self._ids[i]))
        return [Hit(i, float(shared[i])) for i in found[:top_k]]
