"""Sources that dial: an institution without an open port connects here and is asked over its own connection.

`TunnelHub.channel(source_id)` looks like a gRPC channel to that source, so that `SourceClient` and all that
stands on it (retries, breakers, quorum) is the same for both kinds. While the source is not connected its
calls fail as `unavailable`. A source counts as connected once its certificate carries its id; a newer
connection of the same source takes the place of the older one.
"""

from __future__ import annotations

import itertools
import logging
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import CancelledError, Future, InvalidStateError
from concurrent.futures import TimeoutError as FutureTimeout
from queue import SimpleQueue
from typing import Any

import grpc

from core.bounds import MAX_MESSAGE_BYTES
from core.errors import AccessError
from core.rpc import Server, Service, make_server, translating
from core.text import clean
from core.tls import TlsFiles, peer_names
from protos import source_tunnel_pb2, source_tunnel_pb2_grpc

_LOG = logging.getLogger(__name__)
SERVICE_NAME = source_tunnel_pb2.DESCRIPTOR.services_by_name["SourceTunnel"].full_name
DIALLED = "dialled"  # stands where other sources have their HOST:PORT
SOURCE_KEY = "scr-source-bin"
FRAME_BYTES = MAX_MESSAGE_BYTES + 4_096
MOST_SOURCES = 512
MOST_CALLS = 256  # of one source at a time
_ALIVE = (("grpc.keepalive_time_ms", 20_000), ("grpc.keepalive_timeout_ms", 10_000))
_PATIENT = (("grpc.http2.min_ping_interval_without_data_ms", 5_000), ("grpc.http2.max_ping_strikes", 0))
_CODES = {code.value[0]: code for code in grpc.StatusCode}


class TunnelError(grpc.RpcError):  # type: ignore[misc]  # grpc is untyped
    """A call over a tunnel that failed, with the face of gRPC's own errors."""

    def __init__(self, code: grpc.StatusCode, details: str) -> None:
        super().__init__(f"{code.name}: {details}")
        self._code, self._details = code, details

    def code(self) -> grpc.StatusCode:
        """The status."""
        return self._code

    def details(self) -> str:
        """Its sentence."""
        return self._details


class TunnelCall:
    """A call over a tunnel, with the face of gRPC's own futures as far as `SourceClient` uses it."""

    def __init__(self, give_up: Callable[[TunnelCall], None], deadline: float) -> None:
        self.deadline = deadline
        self._future: Future[bytes] = Future()
        self._give_up = give_up

    def result(self, timeout: float | None = None) -> bytes:
        """The reply's bytes; raises as gRPC's futures do."""
        try:
            return self._future.result(timeout)
        except CancelledError:
            raise grpc.FutureCancelledError from None
        except FutureTimeout:
            raise grpc.FutureTimeoutError from None

    def add_done_callback(self, tell: Callable[[TunnelCall], None]) -> None:
        """Have `tell` called at the end."""
        self._future.add_done_callback(lambda _future: tell(self))

    def cancel(self) -> None:
        """Give the call up; the source is told."""
        if self._future.cancel():
            self._give_up(self)

    def settle(self, outcome: bytes | TunnelError) -> None:
        """End the call, unless it has ended."""
        try:
            if isinstance(outcome, TunnelError):
                self._future.set_exception(outcome)
            else:
                self._future.set_result(outcome)
        except InvalidStateError:
            return


class _Session:
    """One connection of a source."""

    def __init__(self) -> None:
        self.outgoing: SimpleQueue[source_tunnel_pb2.TunnelCall | None] = SimpleQueue()
        self._lock = threading.Lock()
        self._ids = itertools.count(1)
        self._calls: dict[int, TunnelCall] = {}
        self._open = True

    def start(self, method: str, request: bytes, seconds: float) -> TunnelCall:
        now = time.monotonic()
        with self._lock:
            number = next(self._ids)
            call = TunnelCall(lambda _call: self._forget(number), now + seconds)
            late = [each for each, other in self._calls.items() if other.deadline < now - 1.0]
            ended = [self._calls.pop(each) for each in late]
            if not self._open:
                problem = TunnelError(grpc.StatusCode.UNAVAILABLE, "the source is leaving")
            elif len(self._calls) >= MOST_CALLS or self.outgoing.qsize() >= MOST_CALLS:
                problem = TunnelError(grpc.StatusCode.RESOURCE_EXHAUSTED, "too many calls at once")
            else:
                problem = None
                self._calls[number] = call
        for other in ended:
            other.settle(TunnelError(grpc.StatusCode.DEADLINE_EXCEEDED, "no reply in time"))
        if problem is not None:
            call.settle(problem)
            return call
        frame = source_tunnel_pb2.TunnelCall(
            call_id=number, method=method, request=request, deadline_ms=max(int(1000 * seconds), 1)
        )
        self.outgoing.put(frame)
        return call

    def deliver(self, frame: source_tunnel_pb2.TunnelReply) -> None:
        if frame.leaving:
            with self._lock:
                self._open = False
            return
        with self._lock:
            call = self._calls.pop(frame.call_id, None)
        if call is None:
            return  # given up, or never made
        if frame.status == 0:
            call.settle(frame.reply)
            return
        code = _CODES.get(frame.status, grpc.StatusCode.UNKNOWN)
        call.settle(TunnelError(code, clean(frame.detail)[:300]))

    def close(self, why: str) -> None:
        with self._lock:
            self._open = False
            calls, self._calls = list(self._calls.values()), {}
        for call in calls:
            call.settle(TunnelError(grpc.StatusCode.UNAVAILABLE, why))
        self.outgoing.put(None)

    def _forget(self, number: int) -> None:
        with self._lock:
            known = self._calls.pop(number, None)
        if known is not None and self.outgoing.qsize() < 2 * MOST_CALLS:  # the source may not be reading
            self.outgoing.put(source_tunnel_pb2.TunnelCall(call_id=number, cancelled=True))


class TunnelChannel:
    """A channel to one dialled source, as far as `SourceClient` uses one."""

    def __init__(self, hub: TunnelHub, source_id: str) -> None:
        self._hub, self._source_id = hub, source_id

    def unary_unary(self, path: str, request_serializer: Callable[[Any], bytes]) -> _Method:
        """What calls the method at `path` (/SERVICE/METHOD)."""
        return _Method(self._hub, self._source_id, path.rpartition("/")[2], request_serializer)

    def close(self) -> None:
        """Expect this source no more, and end its connection; nothing where a newer channel stands."""
        self._hub.dismiss(self._source_id, self)


class _Method:
    def __init__(self, hub: TunnelHub, source_id: str, name: str, write: Callable[[Any], bytes]) -> None:
        self._hub, self._source_id, self._name, self._write = hub, source_id, name, write

    def future(self, request: Any, timeout: float) -> TunnelCall:
        return self._hub.start(self._source_id, self._name, self._write(request), timeout)


class TunnelHub(source_tunnel_pb2_grpc.SourceTunnelServicer):  # type: ignore[misc]  # generated
    """The connections of all dialled sources; safe for threads."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._expected: dict[str, TunnelChannel] = {}
        self._sessions: dict[str, _Session] = {}

    def channel(self, source_id: str) -> TunnelChannel:
        """Expect `source_id` to dial from now on; the channel to it."""
        channel = TunnelChannel(self, source_id)
        with self._lock:
            self._expected[source_id] = channel
        return channel

    def connected(self) -> frozenset[str]:
        """The sources that are connected now."""
        with self._lock:
            return frozenset(self._sessions)

    def start(self, source_id: str, method: str, request: bytes, seconds: float) -> TunnelCall:
        """Call `method` of a source; fails at once where it is not connected."""
        with self._lock:
            session = self._sessions.get(source_id)
        if session is not None:
            return session.start(method, request, seconds)
        call = TunnelCall(lambda _call: None, time.monotonic())
        call.settle(TunnelError(grpc.StatusCode.UNAVAILABLE, "the source has not dialled in"))
        return call

    def dismiss(self, source_id: str, channel: TunnelChannel) -> None:
        """Expect a source no more and end its connection, unless it was expected anew since `channel`."""
        with self._lock:
            if self._expected.get(source_id) is not channel:
                return
            del self._expected[source_id]
            session = self._sessions.pop(source_id, None)
        if session is not None:
            session.close("the source was removed")

    def Serve(
        self, request_iterator: Iterator[source_tunnel_pb2.TunnelReply], context: grpc.ServicerContext
    ) -> Iterator[source_tunnel_pb2.TunnelCall]:
        """One connection, from its first frame to its last."""
        with translating(context):
            source_id = self._identified(context)
        session = _Session()
        with translating(context), self._lock:
            self._check_expected(source_id)  # again: it may have been removed meanwhile
            before = self._sessions.get(source_id)
            self._sessions[source_id] = session
        if before is not None:
            before.close("the source has connected anew")
        _LOG.info("source %s has dialled in", source_id)
        if not context.add_callback(lambda: session.close("the connection ended")):
            session.close("the connection ended")  # before it began
        threading.Thread(
            target=_listen, args=(request_iterator, session), name=f"tunnel {source_id}", daemon=True
        ).start()
        try:
            yield source_tunnel_pb2.TunnelCall()
            while (frame := session.outgoing.get()) is not None:
                yield frame
        finally:
            with self._lock:
                if self._sessions.get(source_id) is session:
                    del self._sessions[source_id]
            session.close("the connection ended")
            _LOG.info("source %s is gone", source_id)

    def _identified(self, context: grpc.ServicerContext) -> str:
        """The source that dials.

        Raises:
            AccessError: it is not expected here, or its certificate does not carry its id.
        """
        claimed = [value for key, value in context.invocation_metadata() if key == SOURCE_KEY]
        source_id = claimed[0].decode("utf-8", "replace") if len(claimed) == 1 else ""
        names = peer_names(context)
        if names is not None and source_id.lower() not in {name.lower() for name in names}:
            raise AccessError(f"{names} dials as source {source_id!r}")
        with self._lock:
            self._check_expected(source_id)
        return source_id

    def _check_expected(self, source_id: str) -> None:
        if source_id not in self._expected:
            raise AccessError(f"source {source_id!r} dials and is not expected")

    def close(self) -> None:
        """End every connection."""
        with self._lock:
            sessions, self._sessions = list(self._sessions.values()), {}
        for session in sessions:
            session.close("the aggregator is stopping")


def _listen(frames: Iterator[source_tunnel_pb2.TunnelReply], session: _Session) -> None:
    try:
        for frame in frames:
            session.deliver(frame)
    except Exception as error:  # grpc ends an iterator in several ways: the connection is over in all of them
        _LOG.debug("a tunnel ended: %r", error)
    session.close("the connection ended")


def serve_tunnels(hub: TunnelHub, listen: str, tls: TlsFiles | None = None, insecure: bool = False) -> Server:
    """A server where sources dial in, on a port of its own, bound to `listen` and not yet started.

    A connection keeps a thread for as long as it lasts, so it shares none with questions.

    Raises:
        ConfigError: bad address, port taken, or neither / both of tls and insecure.
    """
    service = Service(SERVICE_NAME, source_tunnel_pb2_grpc.add_SourceTunnelServicer_to_server, hub)
    return make_server(
        [service],
        listen,
        tls,
        insecure,
        workers=MOST_SOURCES,
        max_concurrent=MOST_SOURCES,
        max_message_bytes=FRAME_BYTES,
        options=(*_ALIVE, *_PATIENT),
    )
