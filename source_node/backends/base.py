"""The contract of a collection elsewhere, and the retriever over one."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Sequence
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from core import bounds
from core.embedding.base import Embedder, Vectors
from core.errors import ConfigError, WireError
from core.records import Document
from source_node.retrievers.base import Hit


class Collection(Sequence[Document]):
    """Documents that are found by vector alone; made by `Collection(**options)` of its kind.

    A subclass gives `dimension`, `__len__` and `nearest`, each safe for many threads.
    """

    dimension: int

    @property
    def retriever(self) -> type[CollectionRetriever]:
        """How a node searches it."""
        return CollectionRetriever

    @abstractmethod
    def nearest(self, vector: NDArray[np.float32], k: int) -> list[tuple[Document, float]]:
        """The `k` nearest by cosine with their scores, best first.

        Raises:
            StoreError: the collection is unreachable, or a document lacks its text.
        """

    def __getitem__(self, index: Any) -> Any:
        raise ConfigError("a collection elsewhere is searched by vector only: use --retriever dense")


class CollectionRetriever:
    """Dense retrieval by a collection's own index."""

    uses_vectors: ClassVar[bool] = True

    def __init__(
        self,
        documents: Sequence[Document],
        vectors: Vectors | None,
        embedder: Embedder | None,
        **options: Any,
    ) -> None:
        if not isinstance(documents, Collection) or embedder is None or options:
            raise ConfigError("retriever 'collection' needs an attached store, an embedder, and no options")
        if embedder.dimension != documents.dimension:
            raise ConfigError(
                f"the collection has vectors of {documents.dimension} numbers, "
                f"{embedder.identity} makes {embedder.dimension}"
            )
        self._collection = documents

    def search(self, query_text: str, query_vector: NDArray[np.float32] | None, top_k: int) -> list[Hit]:
        """The `top_k` documents of highest cosine; equal ones in the order of their ids."""
        if query_vector is None:
            raise ConfigError("a collection needs an embedder for the question")
        found = self._collection.nearest(query_vector, top_k)
        found.sort(key=lambda pair: (-round(pair[1], 6), pair[0].doc_id))
        return [Hit(-1, score, document=document) for document, score in found]


def stored(doc_id: object, text: object, title: object, category: object) -> Document:
    """A document out of a collection's fields.

    Raises:
        WireError: a field is missing, of another type or out of bounds.
    """
    if not isinstance(text, str):
        raise WireError(f"document {str(doc_id)[:80]!r} has no text")
    return Document(
        bounds.identifier(str(doc_id), "id"),
        bounds.text(text, "text", bounds.MAX_TEXT_BYTES),
        str(title or ""),
        str(category) if category else None,
    )
