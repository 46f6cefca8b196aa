"""RAGMask as a node's retriever: dense hits, sanitized for the question and ranked again."""

from __future__ import annotations

from collections.abc import Sequence
from math import ceil
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray
from pydantic import Field

from core.config import parse
from core.embedding.base import Embedder, Vectors
from core.errors import ConfigError
from core.records import Document
from defenses.ragmask.mask import MaskConfig, Masker
from source_node.retrievers.base import Hit
from source_node.retrievers.dense import DenseRetriever


class MaskOptions(MaskConfig):
    """`alpha`: alpha * top-k dense hits are examined. `rewrite` false returns the texts as stored."""

    alpha: float = Field(default=4.0, ge=1.0)
    rewrite: bool = True


class RagMaskRetriever:
    """The alpha * p best documents by dense search, masked, and the best p of what is left.

    A document is judged by its text alone: its title is the institution's own. One whose every
    segment is cut is no hit.

    Raises:
        ConfigError: a wrong option, no embedder, or the fast mode with one that shows no token states.
    """

    uses_vectors: ClassVar[bool] = True

    def __init__(
        self,
        documents: Sequence[Document],
        vectors: Vectors | None,
        embedder: Embedder | None,
        **options: Any,
    ) -> None:
        self.options = parse(MaskOptions, options, "retriever 'ragmask'")
        if embedder is None:
            raise ConfigError("retriever 'ragmask' needs an embedder for masked texts and questions")
        self._documents = documents
        self._dense = DenseRetriever(documents, vectors, embedder)
        self._masker = Masker(self.options, embedder)

    def search(self, query_text: str, query_vector: NDArray[np.float32] | None, top_k: int) -> list[Hit]:
        """The `top_k` best sanitized documents; their texts are rewritten where something was cut."""
        if query_vector is None:
            raise ConfigError("retriever 'ragmask' needs an embedder for the question")
        hits = self._dense.search(query_text, query_vector, ceil(self.options.alpha * top_k))
        texts = [self._documents[hit.index].text for hit in hits]
        found = self._masker.sanitize(query_vector, texts)
        best = sorted((i for i, one in enumerate(found) if one.text), key=lambda i: -found[i].after)[:top_k]
        return [
            Hit(
                hits[i].index,
                found[i].after,
                found[i].text if found[i].cut and self.options.rewrite else None,
            )
            for i in best
        ]
