"""Haystack: a retriever over a federation, and a ranker that verifies what another retriever found.

Haystack restores a stored pipeline only from modules that it is told to trust:
`Pipeline.loads(text, allowed_modules=["aggregator.integrations.haystack"])`.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from haystack import Document, component, default_from_dict, default_to_dict

from aggregator.integrations.client import AggregatorClient, Asked, Judged, Submitted, source_of


@component
class SecureCollaRetriever:
    """Asks a federation through a running aggregator; gives the kept documents and the aggregator's answer.

    Args:
        connection: the fields of `client.Connection`.
        top_k: most documents returned; None: all.
        per_source: documents asked of each source; 0: the aggregator's default.
        keep_dropped: return rejected documents too, marked in their meta.
    """

    def __init__(
        self,
        connection: dict[str, Any],
        top_k: int | None = None,
        per_source: int = 0,
        keep_dropped: bool = False,
    ) -> None:
        self.connection = connection
        self.top_k = top_k
        self.per_source = per_source
        self.keep_dropped = keep_dropped
        self._client = AggregatorClient(connection)

    @component.output_types(documents=list[Document], answer=str)
    def run(self, query: str, top_k: int | None = None) -> dict[str, Any]:
        """The documents kept for `query`, and the answer read from them."""
        return self._shown(self._client.ask(query, self.per_source), top_k)

    @component.output_types(documents=list[Document], answer=str)
    async def run_async(self, query: str, top_k: int | None = None) -> dict[str, Any]:
        """`run` without blocking the event loop."""
        return self._shown(await self._client.aask(query, self.per_source), top_k)

    def to_dict(self) -> dict[str, Any]:
        """The component as Haystack stores it."""
        return default_to_dict(
            self,
            connection=_plain(self.connection),
            top_k=self.top_k,
            per_source=self.per_source,
            keep_dropped=self.keep_dropped,
        )

    @classmethod
    def from_dict(cls, data: dict[str, Any]) -> SecureCollaRetriever:
        """The component from what `to_dict` gave."""
        return default_from_dict(cls, data)  # type: ignore[no-any-return]

    def _shown(self, asked: Asked, top_k: int | None) -> dict[str, Any]:
        kept = [one for one in asked.documents if one.kept or self.keep_dropped]
        limit = self.top_k if top_k is None else top_k
        documents = [
            Document(
                content=one.text,
                meta=one.described(),
                score=one.similarity if one.credibility is None else one.credibility,
            )
            for one in kept[:limit]
        ]
        return {"documents": documents, "answer": asked.answer}


@component
class SecureCollaRanker:
    """Verifies documents that any Haystack retriever found; the source is read from `source_key`.

    The kept ones come back, most credible first (equals in their order), with credibility, source,
    verdict, reason, kept and holders in their meta; `keep_dropped` leaves rejected ones in, marked.
    """

    def __init__(
        self,
        connection: dict[str, Any],
        source_key: str = "source",
        top_k: int | None = None,
        keep_dropped: bool = False,
    ) -> None:
        self.connection = connection
        self.source_key = source_key
        self.top_k = top_k
        self.keep_dropped = keep_dropped
        self._client = AggregatorClient(connection)

    @component.output_types(documents=list[Document])
    def run(self, query: str, documents: list[Document], top_k: int | None = None) -> dict[str, Any]:
        """The documents that the aggregator keeps."""
        return self._shown(documents, self._client.verify(query, self._submitted(documents)), top_k)

    @component.output_types(documents=list[Document])
    async def run_async(
        self, query: str, documents: list[Document], top_k: int | None = None
    ) -> dict[str, Any]:
        """`run` without blocking the event loop."""
        judged = await self._client.averify(query, self._submitted(documents))
        return self._shown(documents, judged, top_k)

    def to_dict(self) -> dict[str, Any]:
        """The component as Haystack stores it."""
        return default_to_dict(
            self,
            connection=_plain(self.connection),
            source_key=self.source_key,
            top_k=self.top_k,
            keep_dropped=self.keep_dropped,
        )

    @classmethod
    def from_dict(cls, data: dict[str, Any]) -> SecureCollaRanker:
        """The component from what `to_dict` gave."""
        return default_from_dict(cls, data)  # type: ignore[no-any-return]

    def _submitted(self, documents: list[Document]) -> list[Submitted]:
        return [
            Submitted(source_of(one.meta, self.source_key, i), one.content or "")
            for i, one in enumerate(documents)
        ]

    def _shown(self, documents: list[Document], judged: list[Judged], top_k: int | None) -> dict[str, Any]:
        pairs = [
            (one, found)
            for one, found in zip(documents, judged, strict=True)
            if found.kept or self.keep_dropped
        ]
        pairs.sort(key=lambda pair: -1.0 if pair[1].credibility is None else -pair[1].credibility)
        limit = self.top_k if top_k is None else top_k
        return {"documents": [replace(one, meta=found.added_to(one.meta)) for one, found in pairs[:limit]]}


def _plain(connection: dict[str, Any]) -> dict[str, Any]:
    return {
        name: value if isinstance(value, str | int | float | bool | None) else str(value)
        for name, value in connection.items()
    }
