"""LlamaIndex: a retriever over a federation, and a postprocessor that verifies what was found elsewhere."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from llama_index.core.base.base_retriever import BaseRetriever
from llama_index.core.postprocessor.types import BaseNodePostprocessor
from llama_index.core.schema import BaseNode, MetadataMode, NodeWithScore, QueryBundle, TextNode
from pydantic import PrivateAttr

from aggregator.integrations.client import AggregatorClient, Asked, Judged, Submitted, source_of
from core.errors import ConfigError


class SecureCollaRetriever(BaseRetriever):
    """Asks a federation through a running aggregator and returns the kept documents as nodes.

    A node's score is its credibility, or its similarity where no stage scored.

    Args:
        connection: the fields of `client.Connection`.
        k: most nodes returned; None: all.
        top_k: documents asked of each source; 0: the aggregator's default.
        keep_dropped: return rejected documents too, marked in their metadata.
    """

    def __init__(
        self,
        connection: dict[str, Any],
        k: int | None = None,
        top_k: int = 0,
        keep_dropped: bool = False,
        **named: Any,
    ) -> None:
        self._client = AggregatorClient(connection)
        self._k, self._top_k, self._keep_dropped = k, top_k, keep_dropped
        super().__init__(**named)

    def _retrieve(self, query_bundle: QueryBundle) -> list[NodeWithScore]:
        return self._shown(self._client.ask(query_bundle.query_str, self._top_k))

    async def _aretrieve(self, query_bundle: QueryBundle) -> list[NodeWithScore]:
        return self._shown(await self._client.aask(query_bundle.query_str, self._top_k))

    def _shown(self, asked: Asked) -> list[NodeWithScore]:
        kept = [one for one in asked.documents if one.kept or self._keep_dropped]
        return [
            NodeWithScore(
                node=TextNode(
                    id_=f"{one.source}/{one.doc_id}",
                    text=one.text,
                    metadata=one.described(),
                    excluded_llm_metadata_keys=list(one.described()),
                    excluded_embed_metadata_keys=list(one.described()),
                ),
                score=one.similarity if one.credibility is None else one.credibility,
            )
            for one in kept[: self._k]
        ]


class SecureCollaPostprocessor(BaseNodePostprocessor):
    """Verifies nodes that any LlamaIndex retriever found; the source is read from `source_key`.

    Kept nodes come back in their order and with their score; credibility, source, verdict, reason, kept
    and holders go to their metadata. `keep_dropped` leaves rejected ones in, marked.
    """

    connection: dict[str, Any]
    source_key: str = "source"
    keep_dropped: bool = False
    _client: AggregatorClient = PrivateAttr()

    def model_post_init(self, context: Any, /) -> None:
        super().model_post_init(context)
        self._client = AggregatorClient(self.connection)

    @classmethod
    def class_name(cls) -> str:
        """The name under which LlamaIndex stores the component."""
        return "SecureCollaPostprocessor"

    def _postprocess_nodes(
        self, nodes: list[NodeWithScore], query_bundle: QueryBundle | None = None
    ) -> list[NodeWithScore]:
        question = _question(query_bundle)
        return self._shown(nodes, self._client.verify(question, self._submitted(nodes)))

    async def _apostprocess_nodes(
        self, nodes: list[NodeWithScore], query_bundle: QueryBundle | None = None
    ) -> list[NodeWithScore]:
        question = _question(query_bundle)
        return self._shown(nodes, await self._client.averify(question, self._submitted(nodes)))

    def _submitted(self, nodes: Sequence[NodeWithScore]) -> list[Submitted]:
        return [
            Submitted(
                source_of(one.node.metadata, self.source_key, i), one.node.get_content(MetadataMode.NONE)
            )
            for i, one in enumerate(nodes)
        ]

    def _shown(self, nodes: Sequence[NodeWithScore], judged: Sequence[Judged]) -> list[NodeWithScore]:
        shown = []
        for one, found in zip(nodes, judged, strict=True):
            if found.kept or self.keep_dropped:
                shown.append(NodeWithScore(node=_annotated(one.node, found), score=one.score))
        return shown


def _annotated(node: BaseNode, found: Judged) -> BaseNode:
    """A copy of `node` with the verdict in its metadata, which neither prompts nor embeddings show."""
    hidden = [name for name in found.metadata() if name not in node.metadata]
    return node.model_copy(
        update={
            "metadata": found.added_to(node.metadata),
            "excluded_llm_metadata_keys": [*node.excluded_llm_metadata_keys, *hidden],
            "excluded_embed_metadata_keys": [*node.excluded_embed_metadata_keys, *hidden],
        }
    )


def _question(query_bundle: QueryBundle | None) -> str:
    if query_bundle is None:
        raise ConfigError(
            "verification needs the question: call postprocess_nodes with query_str or query_bundle"
        )
    return query_bundle.query_str
