"""The gRPC face of a node: the caller's identity, errors as statuses; the desk does the rest."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

import grpc

from core.rpc import Server, Service, make_server, translating
from core.tls import peer_identity
from protos import source_node_pb2, source_node_pb2_grpc
from source_node.desk import Answering, Desk, fitting

if TYPE_CHECKING:
    from core.tls import TlsFiles

NAME = "securecollarag.v1.SourceNode"
__all__ = ["NAME", "Answering", "Identify", "SourceNodeServicer", "fitting", "serve"]

# the authenticated name of whoever calls a method (empty: none); raises AccessError to refuse the call
Identify = Callable[[grpc.ServicerContext, str], str]


def certified(context: grpc.ServicerContext, _method: str) -> str:
    """The caller's name in its certificate, or nothing without TLS."""
    return peer_identity(context) or ""


class SourceNodeServicer(source_node_pb2_grpc.SourceNodeServicer):
    """Translates calls into the desk's and back.

    Who calls is told by `identify` alone, the certificate by default: nothing in the message can set it.
    """

    def __init__(self, desk: Desk, identify: Identify = certified) -> None:
        self._desk = desk
        self._identify = identify

    def Retrieve(
        self, request: source_node_pb2.RetrieveRequest, context: grpc.ServicerContext
    ) -> source_node_pb2.RetrieveReply:
        """Answer a question."""
        with translating(context):
            return self._desk.retrieve(self._identify(context, "Retrieve"), request)

    def Describe(
        self, request: source_node_pb2.DescribeRequest, context: grpc.ServicerContext
    ) -> source_node_pb2.DescribeReply:
        """Say who answers here."""
        with translating(context):
            return self._desk.describe(self._identify(context, "Describe"))


def serve(
    node: Answering | Desk,
    listen: str,
    tls: TlsFiles | None = None,
    insecure: bool = False,
    max_top_k: int = 50,
    *,
    identify: Identify | None = None,
    workers: int = 8,
    max_concurrent: int = 64,
    allow_remote_insecure: bool = False,
    interceptors: Sequence[grpc.ServerInterceptor] = (),
) -> Server:
    """A server for `node` (or its desk) bound to `listen` (HOST:PORT, port 0: any), not yet started.

    With `identify`, callers prove who they are in its way and need no certificate.

    Raises:
        ConfigError: bad address, port taken, or TLS files that peers would refuse for this source id.
    """
    desk = node if isinstance(node, Desk) else Desk(node, max_top_k)
    service = Service(
        NAME,
        source_node_pb2_grpc.add_SourceNodeServicer_to_server,
        SourceNodeServicer(desk, identify or certified),
    )
    return make_server(
        [service],
        listen,
        tls,
        insecure,
        workers=workers,
        max_concurrent=max_concurrent,
        allow_remote_insecure=allow_remote_insecure,
        client_certificates=identify is None,
        # a simulated source is served before it has anything to say about itself
        name=None if tls is None else desk.node.describe().source_id,
        interceptors=interceptors,
    )
