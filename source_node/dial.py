"""Dial-out: a node without an open port connects to its aggregator and answers over that connection.

The connection is made again whenever it ends, after a pause that grows and is drawn at random, so that a
restarted aggregator is not met by all its sources at once. Certificates are read for every connection
anew. The aggregator's name, which its certificate must carry, is who the desk takes the caller to be.
"""

from __future__ import annotations

import logging
import random
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from queue import SimpleQueue

import grpc
from google.protobuf.message import DecodeError, Message

from core.bounds import MAX_MESSAGE_BYTES
from core.errors import ConfigError, ScrError, WireError
from core.rpc import open_channel, parse_address, status_of
from core.tls import TlsFiles
from protos import source_node_pb2, source_tunnel_pb2, source_tunnel_pb2_grpc
from source_node.desk import Desk

_LOG = logging.getLogger(__name__)
SOURCE_KEY = "scr-source-bin"
_FRAME_BYTES = MAX_MESSAGE_BYTES + 4_096
_ALIVE = (
    ("grpc.keepalive_time_ms", 20_000),
    ("grpc.keepalive_timeout_ms", 10_000),
    ("grpc.keepalive_permit_without_calls", 1),
    ("grpc.http2.max_pings_without_data", 0),
)
_STEADY_S = 5.0  # a connection that lasted so long starts the pauses anew
_METHODS = frozenset({"Retrieve", "Describe"})
_Queue = SimpleQueue[source_tunnel_pb2.TunnelReply | None]


class Dialler:
    """Keeps a node connected to one aggregator.

    Args:
        desk: what answers.
        address: the aggregator's HOST:PORT for sources that dial.
        tls: the node's files for mutual TLS; None connects without.
        aggregator: the name that the aggregator's certificate must carry; None: the address's host.
        workers: requests answered at a time.
        max_concurrent: requests answered or waiting; one more is refused as overload.
        pauses: seconds of the first pause and of the longest.
        rng: draws the pauses; None takes the operating system's randomness.
        seen: told method, status and seconds of every call.

    Raises:
        ConfigError: a bad address.
    """

    def __init__(
        self,
        desk: Desk,
        address: str,
        tls: TlsFiles | None = None,
        aggregator: str | None = None,
        *,
        workers: int = 8,
        max_concurrent: int = 64,
        pauses: tuple[float, float] = (0.2, 30.0),
        rng: random.Random | None = None,
        seen: Callable[[str, grpc.StatusCode, float], None] | None = None,
    ) -> None:
        host, _ = parse_address(address)
        self.address = address
        self.connected = threading.Event()
        self._desk, self._tls, self._name = desk, tls, aggregator
        self._caller = "" if tls is None else (aggregator or host.strip("[]"))
        self._source_id = desk.node.describe().source_id
        self._pauses, self._rng = pauses, rng or random.SystemRandom()
        self._seen = seen or (lambda _method, _code, _seconds: None)
        self._slots = threading.Semaphore(max_concurrent)
        self._pool = ThreadPoolExecutor(workers, thread_name_prefix="dial")
        self._stopping = threading.Event()
        self._idle = threading.Condition()
        self._running: set[tuple[int, int]] = set()
        self._cancelled: set[tuple[int, int]] = set()
        self._session = 0
        self._outgoing: _Queue = SimpleQueue()
        self._stream: grpc.Call | None = None
        self._thread = threading.Thread(target=self._keep_connected, name="dialler", daemon=True)

    def start(self) -> None:
        """Connect, and connect again, until `stop`."""
        self._thread.start()

    def stop(self, grace: float = 5.0) -> None:
        """Take no new calls, let running ones end within `grace` seconds, then disconnect; idempotent."""
        end = time.monotonic() + grace
        self._stopping.set()
        self._outgoing.put(source_tunnel_pb2.TunnelReply(leaving=True))
        with self._idle:
            self._idle.wait_for(lambda: not self._running, grace)
        self._outgoing.put(None)
        self._thread.join(max(end - time.monotonic(), 0.5))
        stream = self._stream
        if stream is not None:
            stream.cancel()
        self._thread.join(5.0)
        self._pool.shutdown(wait=False, cancel_futures=True)

    def _keep_connected(self) -> None:
        pause = self._pauses[0]
        while not self._stopping.is_set():
            began = time.monotonic()
            try:
                self._connection()
                _LOG.info("aggregator %s has ended the connection", self.address)
            except grpc.RpcError as error:
                if not self._stopping.is_set():
                    _LOG.warning("aggregator %s: %s: %s", self.address, error.code().name, error.details())
            except ConfigError as error:  # certificates that are being exchanged
                _LOG.error("aggregator %s: %s", self.address, error)
            except Exception as error:  # a node whose dialler has ended is cut off for good
                _LOG.error("aggregator %s: the connection failed", self.address, exc_info=error)
            finally:
                self.connected.clear()
                self._stream = None
            if time.monotonic() - began > _STEADY_S:
                pause = self._pauses[0]
            self._stopping.wait(pause * self._rng.uniform(0.5, 1.0))
            pause = min(2 * pause, self._pauses[1])

    def _connection(self) -> None:
        """One connection from its beginning to its end."""
        outgoing: _Queue = SimpleQueue()
        self._session += 1
        self._outgoing = outgoing
        channel = open_channel(
            self.address, self._tls, self._name, max_message_bytes=_FRAME_BYTES, options=_ALIVE
        )
        try:
            stub = source_tunnel_pb2_grpc.SourceTunnelStub(channel)  # type: ignore[no-untyped-call]
            metadata = ((SOURCE_KEY, self._source_id.encode("utf-8")),)
            stream = self._stream = stub.Serve(_frames(outgoing), metadata=metadata)
            if self._stopping.is_set():
                outgoing.put(None)
            for frame in stream:
                if frame.call_id == 0:
                    self.connected.set()
                    _LOG.info("connected to aggregator %s", self.address)
                elif frame.cancelled:
                    self._cancel((self._session, frame.call_id))
                else:
                    self._take(frame, (self._session, frame.call_id), outgoing)
        finally:
            outgoing.put(None)  # whoever feeds the stream ends with it
            channel.close()

    def _cancel(self, key: tuple[int, int]) -> None:
        with self._idle:
            if key in self._running:
                self._cancelled.add(key)

    def _take(self, frame: source_tunnel_pb2.TunnelCall, key: tuple[int, int], outgoing: _Queue) -> None:
        if self._stopping.is_set() or not self._slots.acquire(blocking=False):
            code, detail = grpc.StatusCode.RESOURCE_EXHAUSTED, "too many requests at once, try again later"
            outgoing.put(_failed(frame.call_id, code, detail))
            return
        with self._idle:
            self._running.add(key)
        try:
            self._pool.submit(self._answer, frame, key, outgoing, time.monotonic())
        except RuntimeError:  # stopped meanwhile
            self._slots.release()
            with self._idle:
                self._running.discard(key)

    def _answer(
        self,
        frame: source_tunnel_pb2.TunnelCall,
        key: tuple[int, int],
        outgoing: _Queue,
        arrived: float,
    ) -> None:
        reply, code = None, grpc.StatusCode.OK
        try:
            late = time.monotonic() - arrived > frame.deadline_ms / 1000
            with self._idle:
                given_up = key in self._cancelled
            if late or given_up:
                code = grpc.StatusCode.CANCELLED
                reply = _failed(frame.call_id, code, "the caller gave up")
            else:
                payload = self._called(frame.method, frame.request).SerializeToString()
                reply = source_tunnel_pb2.TunnelReply(call_id=frame.call_id, reply=payload)
        except Exception as error:  # whatever happened, the caller learns its public sentence
            code, sentence = status_of(error)
            if isinstance(error, ScrError):
                _LOG.warning("%s for %s: %s: %s", code.name, self.address, type(error).__name__, error)
            else:
                _LOG.error("%s for %s", code.name, self.address, exc_info=error)
            reply = _failed(frame.call_id, code, sentence)
        finally:
            outgoing.put(reply)
            self._slots.release()
            with self._idle:
                self._running.discard(key)
                self._cancelled.discard(key)
                self._idle.notify_all()
            method = frame.method if frame.method in _METHODS else "other"  # a peer's word is no label
            self._seen(method, code, time.monotonic() - arrived)

    def _called(self, method: str, request: bytes) -> Message:
        try:
            if method == "Retrieve":
                message = source_node_pb2.RetrieveRequest.FromString(request)
                return self._desk.retrieve(self._caller, message)
            if method == "Describe":
                source_node_pb2.DescribeRequest.FromString(request)
                return self._desk.describe(self._caller)
        except DecodeError as error:
            raise WireError(f"unreadable message: {error}") from None
        raise WireError(f"no method {method[:40]!r}")


def _failed(call_id: int, code: grpc.StatusCode, detail: str) -> source_tunnel_pb2.TunnelReply:
    return source_tunnel_pb2.TunnelReply(call_id=call_id, status=code.value[0], detail=detail)


def _frames(outgoing: _Queue) -> Iterator[source_tunnel_pb2.TunnelReply]:
    while (frame := outgoing.get()) is not None:
        yield frame
