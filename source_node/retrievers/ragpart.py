"""RAGPart as a node's retriever: documents listed by most fragment combinations come first."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from core.config import parse
from core.embedding.base import Embedder, Vectors
from core.errors import ConfigError
from core.records import Document
from core.seeding import generator
from defenses.ragpart.fragments import embed_fragments
from defenses.ragpart.index import FragmentIndex
from defenses.ragpart.poll import aggregate
from defenses.ragpart.stage import VoteConfig
from source_node.index import id_ranks, searchable
from source_node.retrievers.base import Hit


class RagPartRetriever:
    """Embeds N fragments of every document when it is made, and holds N times dense retrieval's memory.

    A hit's score is its similarity averaged over all combinations; hits come in the order of votes.
    Where no document is in all lists, the intersection draws from the union by the question's hash.

    Raises:
        ConfigError: a wrong option, or no embedder.
    """

    uses_vectors: ClassVar[bool] = True

    def __init__(
        self,
        documents: Sequence[Document],
        vectors: Vectors | None,
        embedder: Embedder | None,
        **options: Any,
    ) -> None:
        self.options = parse(VoteConfig, options, "retriever 'ragpart'")
        if embedder is None:
            raise ConfigError("retriever 'ragpart' needs an embedder for fragments and questions")
        # Rows in the order of the ids: the vote breaks ties by row.
        self._order = np.argsort(id_ranks(documents))
        self._index = FragmentIndex(
            embed_fragments(
                [searchable(documents[int(i)]) for i in self._order], self.options.fragments, embedder
            ),
            self.options.combine,
            cosine=self.options.similarity == "cosine",
        )

    def search(self, query_text: str, query_vector: NDArray[np.float32] | None, top_k: int) -> list[Hit]:
        """The `top_k` documents that most lists of `top_k` hold; fewer under intersection."""
        if query_vector is None:
            raise ConfigError("retriever 'ragpart' needs an embedder for the question")
        poll = self._index.poll(query_vector, top_k)
        ballot = aggregate(poll, top_k, self.options.aggregation, generator(0, "ragpart", query_text))
        return [
            Hit(int(self._order[row]), float(mean))
            for row, mean in zip(ballot.documents, ballot.means, strict=True)
        ]
