"""LangChain: a retriever over a federation, and a compressor that verifies what another retriever found."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from langchain_core.callbacks import (
    AsyncCallbackManagerForRetrieverRun,
    CallbackManagerForRetrieverRun,
    Callbacks,
)
from langchain_core.documents import BaseDocumentCompressor, Document
from langchain_core.retrievers import BaseRetriever
from pydantic import ConfigDict, PrivateAttr

from aggregator.integrations.client import AggregatorClient, Asked, Judged, Submitted, source_of


class SecureCollaRetriever(BaseRetriever):
    """Asks a federation through a running aggregator and returns the documents that were kept.

        SecureCollaRetriever(connection={"address": "127.0.0.1:6000", "insecure": True}).invoke("...")

    `connection` has the fields of `client.Connection`. `k` limits the documents returned, `top_k` is asked
    of each source (0: the aggregator's default), `keep_dropped` returns rejected ones too, marked in their
    metadata (source, credibility, verdict, reason, kept, holders, doc_id, title, similarity).
    """

    connection: dict[str, Any]
    k: int | None = None
    top_k: int = 0
    keep_dropped: bool = False
    _client: AggregatorClient = PrivateAttr()

    def model_post_init(self, context: Any, /) -> None:
        super().model_post_init(context)
        self._client = AggregatorClient(self.connection)

    def _get_relevant_documents(
        self, query: str, *, run_manager: CallbackManagerForRetrieverRun, k: int | None = None
    ) -> list[Document]:
        return self._shown(self._client.ask(query, self.top_k), k)

    async def _aget_relevant_documents(
        self, query: str, *, run_manager: AsyncCallbackManagerForRetrieverRun, k: int | None = None
    ) -> list[Document]:
        return self._shown(await self._client.aask(query, self.top_k), k)

    def _shown(self, asked: Asked, k: int | None) -> list[Document]:
        kept = [one for one in asked.documents if one.kept or self.keep_dropped]
        return [
            Document(page_content=one.text, metadata=one.described())
            for one in kept[: self.k if k is None else k]
        ]


class SecureCollaCompressor(BaseDocumentCompressor):
    """Verifies documents that any LangChain retriever found; the source is read from `source_key`.

    Kept documents come back in their order with credibility, source, verdict, reason, kept and holders in
    their metadata; `keep_dropped` leaves rejected ones in, marked.
    """

    model_config = ConfigDict(arbitrary_types_allowed=True)

    connection: dict[str, Any]
    source_key: str = "source"
    keep_dropped: bool = False
    _client: AggregatorClient = PrivateAttr()

    def model_post_init(self, context: Any, /) -> None:
        super().model_post_init(context)
        self._client = AggregatorClient(self.connection)

    def compress_documents(
        self, documents: Sequence[Document], query: str, callbacks: Callbacks | None = None
    ) -> Sequence[Document]:
        """The documents that the aggregator keeps."""
        return self._shown(documents, self._client.verify(query, self._submitted(documents)))

    async def acompress_documents(
        self, documents: Sequence[Document], query: str, callbacks: Callbacks | None = None
    ) -> Sequence[Document]:
        """`compress_documents` without blocking the event loop."""
        return self._shown(documents, await self._client.averify(query, self._submitted(documents)))

    def _submitted(self, documents: Sequence[Document]) -> list[Submitted]:
        return [
            Submitted(source_of(one.metadata, self.source_key, i), one.page_content)
            for i, one in enumerate(documents)
        ]

    def _shown(self, documents: Sequence[Document], judged: Sequence[Judged]) -> list[Document]:
        return [
            Document(id=one.id, page_content=one.page_content, metadata=found.added_to(one.metadata))
            for one, found in zip(documents, judged, strict=True)
            if found.kept or self.keep_dropped
        ]
