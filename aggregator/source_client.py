"""One source as the aggregator sees it: every call ends in a reply or a failure, never in an exception."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any, Generic, Protocol, TypeVar

import grpc
from google.protobuf.message import DecodeError

from core.errors import ConfigError, WireError
from core.records import NodeDescription, PrivacyRequest, Query, SourceFailure, SourceReply
from core.rotation import follow_channel
from core.rpc import close_channel, failure_of
from core.tls import TlsFiles
from core.tokens import Token
from core.wire import from_describe_reply, from_retrieve_reply, to_retrieve_request
from protos import source_node_pb2

_SERVICE = source_node_pb2.DESCRIPTOR.services_by_name["SourceNode"].full_name
_SLACK_S = 0.25  # gRPC ends a call at its deadline; this is for the case that it does not

_Record = TypeVar("_Record", covariant=True)


class _Reading(Protocol[_Record]):
    """Reads a reply's bytes; `milliseconds` is how long they took. Raises WireError or DecodeError."""

    def __call__(self, data: bytes, milliseconds: float) -> _Record: ...


class Pending(Generic[_Record]):
    """A call on its way to a source."""

    def __init__(
        self, source_id: str, call: Any, read: _Reading[_Record], started: float, deadline: float
    ) -> None:
        self.source_id = source_id
        self._call = call
        self._read = read
        self._started = started
        self._deadline = deadline
        self._arrived: float | None = None
        call.add_done_callback(self._note_arrival)

    def _note_arrival(self, _call: Any) -> None:
        self._arrived = time.perf_counter()

    def add_done_callback(self, tell: Callable[[], None]) -> None:
        """Have `tell` called once `result` will not wait."""
        self._call.add_done_callback(lambda _call: tell())

    def cancel(self) -> None:
        """Give the call up."""
        self._call.cancel()

    def result(self) -> _Record | SourceFailure:
        """Wait for the end of the call, at most until its deadline."""
        try:
            left = self._deadline - time.perf_counter()
            data = self._call.result(timeout=max(left, 0.0) + _SLACK_S)
            milliseconds = 1000 * ((self._arrived or time.perf_counter()) - self._started)
            return self._read(data, milliseconds)
        except grpc.FutureTimeoutError:
            self._call.cancel()
            return SourceFailure(self.source_id, "deadline", "no reply in time")
        except grpc.FutureCancelledError:
            return SourceFailure(self.source_id, "deadline", "the call was given up")
        except grpc.RpcError as error:
            return failure_of(self.source_id, error)
        except DecodeError:
            return SourceFailure(self.source_id, "malformed", "the reply is no message of this protocol")
        except WireError as error:
            return SourceFailure(self.source_id, error.kind, str(error))


class SourceClient:
    """The channel to one source; safe for threads, connects at the first call.

    With TLS the server must show a certificate that names `source_id` (Byzantine rule 2).

    Args:
        source_id: who is expected to answer.
        address: HOST:PORT.
        tls: the aggregator's files for mutual TLS; None connects without.
        deadline_s: seconds after which a call has failed, where `start` is given none.
        channel: a connection in place of one to `address` (`aggregator.tunnel`).
        token: proves to the source who asks, in place of a certificate.

    Raises:
        ConfigError: bad address, deadline or TLS files.
    """

    def __init__(
        self,
        source_id: str,
        address: str,
        tls: TlsFiles | None = None,
        deadline_s: float = 5.0,
        *,
        channel: Any = None,
        token: Token | None = None,
    ) -> None:
        if not deadline_s > 0:
            raise ConfigError(f"deadline of source {source_id!r} must be above 0 seconds, not {deadline_s}")
        self.source_id = source_id
        self.address = address
        self.deadline_s = deadline_s
        self._channel = channel or follow_channel(address, tls, expected_name=source_id, token=token)
        # replies stay bytes until `Pending.result` reads them: gRPC would log a traceback for bad ones
        self._retrieve = self._channel.unary_unary(
            f"/{_SERVICE}/Retrieve", request_serializer=source_node_pb2.RetrieveRequest.SerializeToString
        )
        self._describe = self._channel.unary_unary(
            f"/{_SERVICE}/Describe", request_serializer=source_node_pb2.DescribeRequest.SerializeToString
        )

    def __repr__(self) -> str:
        return f"SourceClient({self.source_id!r}, {self.address!r})"

    def start(
        self,
        query: Query,
        top_k: int,
        deadline_s: float | None = None,
        privacy: PrivacyRequest | None = None,
    ) -> Pending[SourceReply]:
        """Send the question and return at once; `privacy` is what the source's own mechanism is asked for.

        Raises:
            WireError: the question or `top_k` is out of bounds (the caller's fault, not the source's).
        """

        def read(data: bytes, milliseconds: float) -> SourceReply:
            message = source_node_pb2.RetrieveReply.FromString(data)
            return from_retrieve_reply(
                message,
                self.source_id,
                request_id=query.request_id,
                top_k=top_k,
                milliseconds=milliseconds,
            )

        return self._start(self._retrieve, to_retrieve_request(query, top_k, privacy), read, deadline_s)

    def start_describe(self, deadline_s: float | None = None) -> Pending[NodeDescription]:
        """Ask the source what it is and return at once."""

        def read(data: bytes, milliseconds: float) -> NodeDescription:
            message = source_node_pb2.DescribeReply.FromString(data)
            return from_describe_reply(message, self.source_id)

        return self._start(self._describe, source_node_pb2.DescribeRequest(), read, deadline_s)

    def close(self) -> None:
        """Close the channel; running calls end as failures."""
        close_channel(self._channel)

    def _start(
        self, method: Any, request: Any, read: _Reading[_Record], deadline_s: float | None
    ) -> Pending[_Record]:
        seconds = self.deadline_s if deadline_s is None else deadline_s
        started = time.perf_counter()
        call = method.future(request, timeout=seconds)
        return Pending(self.source_id, call, read, started, started + seconds)
