"""The contract of a retriever.

A retriever is made once over a node's documents, `Retriever(documents, vectors, embedder, **options)`,
and searched by many threads at once, so a search changes nothing. `documents` may live on disk: take
them by index, and only those you return. Unknown options are errors (`core.config.StrictModel`).
Equal scores come in the order of the document ids, so that the same question has the same answer.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, Protocol, runtime_checkable

import numpy as np
from numpy.typing import NDArray

from core.embedding.base import Embedder, Vectors
from core.records import Document


@dataclass(frozen=True, slots=True)
class Hit:
    """A document found: its index, its score (higher is better), and its text where rewritten.

    `document` itself where it comes from a collection elsewhere, which has no indices.
    """

    index: int
    score: float
    text: str | None = None
    document: Document | None = None


class Retriever(Protocol):
    """Finds the documents of one node that answer a question.

    `uses_vectors` is false where neither the documents' vectors nor an embedder is needed.
    """

    uses_vectors: ClassVar[bool]

    def __init__(
        self,
        documents: Sequence[Document],
        vectors: Vectors | None,
        embedder: Embedder | None,
        **options: Any,
    ) -> None: ...

    def search(self, query_text: str, query_vector: NDArray[np.float32] | None, top_k: int) -> list[Hit]:
        """At most `top_k` hits, best first, no index twice."""
        ...


@runtime_checkable
class Scoring(Protocol):
    """A retriever that gives every document a score: what a privacy mechanism draws from.

    `independent_scores`: a document's score depends on its own content and the question alone.
    """

    independent_scores: ClassVar[bool]

    def scores(self, query_text: str, query_vector: NDArray[np.float32] | None) -> NDArray[np.float32]:
        """(n,) the score of every document."""
        ...
