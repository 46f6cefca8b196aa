"""The gRPC face of an aggregator."""

from __future__ import annotations

import logging
from collections.abc import Sequence

import grpc

from aggregator.aggregator import Aggregator
from aggregator.messages import to_ask_reply, to_verify_reply
from aggregator.operator_servicer import OPERATOR_NAME, OperatorServicer
from core.clock_watch import ClockWatch
from core.errors import ConfigError
from core.records import NodeDescription
from core.rpc import Server, Service, make_server, translating
from core.text import clean
from core.tls import TlsFiles, peer_identity
from core.wire import from_ask_request, from_verify_request
from protos import aggregator_pb2, aggregator_pb2_grpc, operator_pb2_grpc

_LOG = logging.getLogger(__name__)
_SOURCES_SHARE = 0.75
SERVICE_NAME = aggregator_pb2.DESCRIPTOR.services_by_name["Aggregator"].full_name


class AggregatorServicer(aggregator_pb2_grpc.AggregatorServicer):  # type: ignore[misc]  # generated
    """Ask, Verify and ListSources over one `Aggregator`.

    With mutual TLS a user is `CALLER` or `CALLER/USER`, CALLER being the name in the certificate:
    the `user_id` in a message is only the caller's word.

    Args:
        aggregator: what answers.
        top_k: documents asked of each source where a request names none.
    """

    def __init__(self, aggregator: Aggregator, top_k: int = 5) -> None:
        self._aggregator = aggregator
        self._top_k = top_k
        self._clock = ClockWatch()

    def Ask(
        self, request: aggregator_pb2.AskRequest, context: grpc.ServicerContext
    ) -> aggregator_pb2.AskReply:
        with translating(context):
            self._clock.look()
            query, top_k = from_ask_request(request, self._top_k)
            user = "/".join(part for part in (peer_identity(context), query.user_id) if part)
            answer = self._aggregator.ask(
                query.text, top_k=top_k, user_id=user, deadline_s=_for_sources(context)
            )
            for failure in answer.failures:
                detail = clean(failure.detail)
                _LOG.warning("source %s gave nothing: %s: %s", failure.source_id, failure.kind, detail)
            return to_ask_reply(answer)

    def Verify(
        self, request: aggregator_pb2.VerifyRequest, context: grpc.ServicerContext
    ) -> aggregator_pb2.VerifyReply:
        with translating(context):
            query, documents = from_verify_request(request)
            return to_verify_reply(self._aggregator.verify(query.text, documents))

    def ListSources(
        self, request: aggregator_pb2.ListSourcesRequest, context: grpc.ServicerContext
    ) -> aggregator_pb2.ListSourcesReply:
        with translating(context):
            fan_out = self._aggregator.fan_out
            if fan_out is None:
                raise ConfigError("this aggregator has no sources")
            return aggregator_pb2.ListSourcesReply(
                sources=[
                    aggregator_pb2.SourceStatus(
                        source_id=standing.source_id,
                        address=standing.address,
                        reachable=isinstance(found, NodeDescription),
                        reliability=self._aggregator.reputation.reliability([standing.source_id])[
                            standing.source_id
                        ],
                        n_documents=found.n_documents if isinstance(found, NodeDescription) else 0,
                    )
                    for standing, found in fan_out.survey()
                ]
            )


def _for_sources(context: grpc.ServicerContext) -> float | None:
    """Seconds that the sources get of what the asker waits: the rest is for judging and reading."""
    left = context.time_remaining()
    return None if left is None else max(_SOURCES_SHARE * left, 0.001)


def serve(
    aggregator: Aggregator,
    listen: str,
    tls: TlsFiles | None = None,
    insecure: bool = False,
    *,
    top_k: int = 5,
    workers: int = 8,
    operators: Sequence[str] = (),
    interceptors: Sequence[grpc.ServerInterceptor] = (),
) -> Server:
    """A server of `aggregator`, bound to `listen` and not yet started.

    `operators` are the certified names that may change its sources.

    Raises:
        ConfigError: bad address, port taken, or neither / both of tls and insecure.
    """
    service = Service(
        SERVICE_NAME,
        aggregator_pb2_grpc.add_AggregatorServicer_to_server,
        AggregatorServicer(aggregator, top_k),
    )
    manage = Service(
        OPERATOR_NAME,
        operator_pb2_grpc.add_AggregatorOperatorServicer_to_server,
        OperatorServicer(aggregator, tls, operators),
    )
    return make_server([service, manage], listen, tls, insecure, workers=workers, interceptors=interceptors)
