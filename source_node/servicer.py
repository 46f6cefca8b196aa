"""The gRPC face of a node: bounds, the caller's identity, errors as statuses."""

from __future__ import annotations

import logging
from dataclasses import replace
from typing import TYPE_CHECKING, Protocol

import grpc

from core import wire
from core.bounds import MAX_MESSAGE_BYTES
from core.errors import DataError, WireError
from core.records import NodeDescription, PrivacyRequest, Query, SourceReply
from core.rpc import Server, Service, make_server, translating
from core.tls import check_server_name, peer_identity
from protos import source_node_pb2, source_node_pb2_grpc

if TYPE_CHECKING:
    from core.tls import TlsFiles

_LOG = logging.getLogger(__name__)
_REPLY_BYTES = MAX_MESSAGE_BYTES - 4_096  # leaves room for the ids around the documents
_DOCUMENT_BYTES = 64  # tags, lengths, score and rank of one document
NAME = "securecollarag.v1.SourceNode"


class Answering(Protocol):
    """What can be served: a `SourceNode`, or something with its face (a simulated source)."""

    def retrieve(self, query: Query, top_k: int, privacy: PrivacyRequest | None = None) -> SourceReply:
        """The best documents for `query`; its `user_id` is the caller's certified name, or empty."""
        ...

    def describe(self) -> NodeDescription:
        """What the node says about itself."""
        ...


class SourceNodeServicer(source_node_pb2_grpc.SourceNodeServicer):
    """Translates calls into `node`'s and back.

    The caller's name in its certificate goes to the node as `Query.user_id` (empty without TLS), where
    budgets and access rules rest on it: nothing in the message can set it.
    """

    def __init__(self, node: Answering, max_top_k: int = 50) -> None:
        self._node = node
        self._max_top_k = max_top_k

    def Retrieve(
        self, request: source_node_pb2.RetrieveRequest, context: grpc.ServicerContext
    ) -> source_node_pb2.RetrieveReply:
        """Answer a question with at most `top_k` and `max_top_k` documents."""
        with translating(context):
            query, top_k, privacy = wire.from_retrieve_request(request)
            query = replace(query, user_id=peer_identity(context) or "")
            reply = self._node.retrieve(query, min(top_k, self._max_top_k), privacy)
            try:
                return wire.to_retrieve_reply(fitting(reply), query.request_id)
            except WireError as error:  # not the caller's fault
                raise DataError(f"own documents break the bounds of the wire: {error}") from error

    def Describe(
        self, request: source_node_pb2.DescribeRequest, context: grpc.ServicerContext
    ) -> source_node_pb2.DescribeReply:
        """Say who answers here."""
        with translating(context):
            node = self._node.describe()
            return wire.to_describe_reply(replace(node, max_top_k=min(node.max_top_k, self._max_top_k)))


def fitting(reply: SourceReply) -> SourceReply:
    """`reply` without the last documents that would make it larger than a message may be."""
    size = 0
    for count, document in enumerate(reply.documents):
        parts = (document.doc_id, document.title, document.text, document.category or "")
        size += _DOCUMENT_BYTES + sum(len(part.encode("utf-8", "surrogatepass")) for part in parts)
        if size > _REPLY_BYTES:
            _LOG.warning("%d documents of %d fit into a reply", count, len(reply.documents))
            return replace(reply, documents=reply.documents[:count])
    return reply


def serve(
    node: Answering,
    listen: str,
    tls: TlsFiles | None = None,
    insecure: bool = False,
    max_top_k: int = 50,
    *,
    workers: int = 8,
    max_concurrent: int = 64,
    allow_remote_insecure: bool = False,
) -> Server:
    """A server for `node` bound to `listen` (HOST:PORT, port 0: any), not yet started.

    Raises:
        ConfigError: bad address, port taken, or TLS files that peers would refuse for this source id.
    """
    if tls is not None:
        check_server_name(tls, node.describe().source_id)
    service = Service(
        NAME, source_node_pb2_grpc.add_SourceNodeServicer_to_server, SourceNodeServicer(node, max_top_k)
    )
    return make_server(
        [service],
        listen,
        tls,
        insecure,
        workers=workers,
        max_concurrent=max_concurrent,
        allow_remote_insecure=allow_remote_insecure,
    )
