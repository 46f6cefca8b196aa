"""gRPC for both services: errors as statuses, servers that stop gracefully, channels with limits.

A server binds a port of its own (`grpc.so_reuseport` 0: with the default, a second server binds the
same port silently and answers for the first), takes at most 4 MiB a message, refuses calls beyond its
concurrency limit, and offers the standard health and reflection services.
"""

from __future__ import annotations

import ipaddress
import logging
import threading
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import grpc
from google.protobuf.message import DecodeError
from grpc_health.v1 import health, health_pb2, health_pb2_grpc
from grpc_reflection.v1alpha import reflection

from core import errors
from core.bounds import MAX_MESSAGE_BYTES
from core.errors import ConfigError, ScrError
from core.records import SourceFailure
from core.signals import stop_asked
from core.tls import TlsFiles
from core.tokens import Token, token_credentials

_LOG = logging.getLogger(__name__)
_INTERNAL = (grpc.StatusCode.INTERNAL, "internal error")

# error class -> status and the sentence that leaves the process; a subclass without a line of its
# own takes its parent's
STATUSES: dict[type[Exception], tuple[grpc.StatusCode, str]] = {
    errors.WireError: (grpc.StatusCode.INVALID_ARGUMENT, "the message breaks the bounds of the protocol"),
    errors.ConfigError: (grpc.StatusCode.FAILED_PRECONDITION, "the service is not set up for this request"),
    errors.DataError: (grpc.StatusCode.INTERNAL, "the service's data is unusable"),
    errors.MissingPackageError: (grpc.StatusCode.UNIMPLEMENTED, "the service lacks a part that this needs"),
    errors.CheckpointError: (grpc.StatusCode.FAILED_PRECONDITION, "the service's checkpoint does not fit"),
    errors.StoreError: (grpc.StatusCode.UNAVAILABLE, "the document store is unavailable"),
    errors.EmbeddingError: (grpc.StatusCode.UNAVAILABLE, "the embedding model is unavailable"),
    errors.LLMError: (grpc.StatusCode.UNAVAILABLE, "the language model is unavailable"),
    errors.StageError: (grpc.StatusCode.ABORTED, "a required defense failed, so nothing was answered"),
    errors.ContractError: (grpc.StatusCode.INTERNAL, "a defense misbehaved"),
    errors.RefusedError: (grpc.StatusCode.FAILED_PRECONDITION, "the question was refused"),
    errors.AccessError: (grpc.StatusCode.PERMISSION_DENIED, "not allowed"),
    errors.AuthenticationError: (grpc.StatusCode.UNAUTHENTICATED, "who calls was not proved"),
    errors.BudgetError: (grpc.StatusCode.FAILED_PRECONDITION, "the privacy budget is spent"),
    errors.OverloadError: (grpc.StatusCode.RESOURCE_EXHAUSTED, "too many requests at once, try again later"),
    ScrError: _INTERNAL,
}

_FAILURE_KINDS = {
    grpc.StatusCode.DEADLINE_EXCEEDED: "deadline",
    grpc.StatusCode.CANCELLED: "deadline",
    grpc.StatusCode.UNAVAILABLE: "unavailable",
    grpc.StatusCode.RESOURCE_EXHAUSTED: "overloaded",
    grpc.StatusCode.INVALID_ARGUMENT: "refused",
    grpc.StatusCode.FAILED_PRECONDITION: "refused",
    grpc.StatusCode.PERMISSION_DENIED: "refused",
    grpc.StatusCode.UNAUTHENTICATED: "refused",
    grpc.StatusCode.UNIMPLEMENTED: "refused",
    grpc.StatusCode.ABORTED: "refused",
}
# what gRPC says where the server's certificate is not the expected one
_WRONG_PEER = ("Hostname Verification", "Peer name", "certificate", "CERTIFICATE")


def status_of(error: Exception) -> tuple[grpc.StatusCode, str]:
    """(status, public sentence) of `error`; what is not in the table is an internal error."""
    return next((STATUSES[kind] for kind in type(error).__mro__ if kind in STATUSES), _INTERNAL)


@contextmanager
def translating(context: grpc.ServicerContext) -> Iterator[None]:
    """Turns an exception in a servicer's body into its status: message to the log, sentence to the peer."""
    try:
        yield
    except Exception as error:
        if context.code() is not None:  # the body aborted by itself
            raise
        code, sentence = status_of(error)
        if isinstance(error, ScrError):
            _LOG.warning("%s for %s: %s: %s", code.name, context.peer(), type(error).__name__, error)
        else:
            _LOG.error("%s for %s", code.name, context.peer(), exc_info=error)
        context.abort(code, sentence)


def failure_of(source_id: str, error: grpc.RpcError) -> SourceFailure:
    """The `SourceFailure` that a failed call to `source_id` amounts to."""
    code, details = error.code(), error.details() or ""
    kind = _FAILURE_KINDS.get(code, "internal")
    if code is grpc.StatusCode.RESOURCE_EXHAUSTED and "larger than max" in details:
        kind = "oversized"
    elif code is grpc.StatusCode.INTERNAL and "deserializing response" in details:
        kind = "malformed"
    elif code is grpc.StatusCode.UNAVAILABLE and any(mark in details for mark in _WRONG_PEER):
        kind = "identity"
    return SourceFailure(source_id, kind, " ".join(f"{code.name}: {details}".split())[:500])


@dataclass(frozen=True)
class Service:
    """A servicer to be served: its full proto name and the generated function that adds it.

    `Service("securecollarag.v1.SourceNode", add_SourceNodeServicer_to_server, servicer)`
    """

    name: str
    add: Callable[[Any, grpc.Server], None]
    servicer: Any


class Server:
    """A bound gRPC server; `address` is the HOST:PORT that it really listens on."""

    def __init__(
        self, server: grpc.Server, checks: health.HealthServicer, names: Sequence[str], address: str
    ) -> None:
        self.address = address
        self._server = server
        self._health = checks
        self._names = ("", *names)
        self._stopped = False

    def start(self) -> None:
        """Serve; from here on the health service says SERVING."""
        self._server.start()
        for name in self._names:
            self._health.set(name, health_pb2.HealthCheckResponse.SERVING)

    def stop(self, grace: float = 5.0) -> None:
        """Refuse new calls, let running ones end within `grace` seconds, then return; idempotent."""
        if not self._stopped:
            self._stopped = True
            self._health.enter_graceful_shutdown()
        self._server.stop(grace).wait()

    def wait(self, timeout: float | None = None) -> bool:
        """Block until the server has stopped; whether it has (False: `timeout` seconds passed)."""
        return not self._server.wait_for_termination(timeout)

    def run_until_signal(self, announce: Callable[[str], None], grace: float = 5.0) -> None:
        """Start, `announce` the line `listening HOST:PORT`, and serve until SIGTERM or SIGINT."""
        with stop_asked() as asked:
            self.start()
            announce(f"listening {self.address}")
            asked.wait()
            _LOG.info("stopping %s, running calls have %.1f s", self.address, grace)
            self.stop(grace)


def make_server(
    services: Sequence[Service],
    listen: str,
    tls: TlsFiles | None = None,
    insecure: bool = False,
    *,
    workers: int = 8,
    max_concurrent: int = 64,
    max_message_bytes: int = MAX_MESSAGE_BYTES,
    allow_remote_insecure: bool = False,
    client_certificates: bool = True,
    name: str | None = None,
    interceptors: Sequence[grpc.ServerInterceptor] = (),
    options: Sequence[tuple[str, int]] = (),
) -> Server:
    """A server bound to `listen`, not yet started.

    Args:
        services: what to serve, besides health and reflection.
        listen: HOST:PORT; port 0 takes a free one.
        tls: files for mutual TLS; None only together with `insecure`.
        insecure: no TLS, on loopback addresses only.
        workers: threads that run calls.
        max_concurrent: calls running or queued; one more is refused as overload.
        max_message_bytes: limit of a message in either direction.
        allow_remote_insecure: lets `insecure` bind any address, for a simulation on a closed cluster.
        client_certificates, name: see `TlsFiles.server_credentials`.
        interceptors: what stands around every call, outermost first.
        options: further channel arguments.

    Raises:
        ConfigError: bad address, port taken, TLS files missing, or neither / both of tls and insecure.
    """
    host, port = parse_address(listen)
    if (tls is None) == (not insecure):
        raise ConfigError("a server needs either TLS files or insecure, not both or neither")
    if insecure and not allow_remote_insecure and not _is_loopback(host):
        raise ConfigError(f"{listen}: without TLS only a loopback address (127.0.0.1) may be served")
    checks = health.HealthServicer()
    checks.set("", health_pb2.HealthCheckResponse.NOT_SERVING)
    server = grpc.server(
        ThreadPoolExecutor(workers, thread_name_prefix="rpc"),
        interceptors=(*interceptors, _Guard()),
        options=(*_limits(max_message_bytes), ("grpc.so_reuseport", 0), *options),
        maximum_concurrent_rpcs=max_concurrent,
    )
    for service in services:
        service.add(service.servicer, server)
    health_pb2_grpc.add_HealthServicer_to_server(checks, server)
    names = [service.name for service in services]
    reflection.enable_server_reflection((*names, health.SERVICE_NAME, reflection.SERVICE_NAME), server)
    try:
        if tls is None:
            bound = server.add_insecure_port(listen)
        else:
            credentials = tls.server_credentials(client_certificates=client_certificates, name=name)
            bound = server.add_secure_port(listen, credentials)
    except RuntimeError:
        raise ConfigError(
            f"cannot listen on {listen}: the port is taken or the address is not ours"
        ) from None
    if not bound or (port and bound != port):
        raise ConfigError(f"cannot listen on {listen}: the port is taken or the address is not ours")
    return Server(server, checks, names, f"{host}:{bound}")


def open_channel(
    address: str,
    tls: TlsFiles | None = None,
    expected_name: str | None = None,
    *,
    max_message_bytes: int = MAX_MESSAGE_BYTES,
    token: Token | None = None,
    options: Sequence[tuple[str, int]] = (),
) -> grpc.Channel:
    """A channel to `address`; it connects at the first call, so a dead peer shows there.

    Args:
        address: HOST:PORT.
        tls: files for mutual TLS; None connects without.
        expected_name: the name that the server's certificate must be valid for, in place of the host
            name: a source's id (see `core.tls`).
        max_message_bytes: limit of a message in either direction.
        token: proves who calls, in place of a certificate of one's own; needs TLS and `expected_name`.
        options: further channel arguments.

    Raises:
        ConfigError: bad address or TLS files, or a token where nothing protects it.
    """
    parse_address(address)
    arguments: list[tuple[str, int | str]] = [
        *_limits(max_message_bytes),
        ("grpc.enable_http_proxy", 0),
        ("grpc.use_local_subchannel_pool", 1),
        ("grpc.initial_reconnect_backoff_ms", 200),
        ("grpc.max_reconnect_backoff_ms", 5_000),
        *options,
    ]
    if token is not None and (tls is None or expected_name is None):
        raise ConfigError("a token is shown over TLS only, to a server whose name is known")
    if tls is None:
        return grpc.insecure_channel(address, arguments)
    credentials = tls.channel_credentials(show=token is None)
    if expected_name is not None:
        arguments.append(("grpc.ssl_target_name_override", expected_name))
        if token is not None:
            credentials = grpc.composite_channel_credentials(
                credentials, token_credentials(token, expected_name)
            )
    return grpc.secure_channel(address, credentials, arguments)


def close_channel(channel: grpc.Channel, patience_s: float = 2.0) -> bool:
    """Close `channel`; returns whether it closed within `patience_s` seconds.

    gRPC waits in `close` for the last event of every call, without a limit. Ctrl-C that arrives while a
    call is being sent can cost that event, and the process would never end: it is left behind instead.
    """
    closing = threading.Thread(target=channel.close, name="close-channel", daemon=True)
    closing.start()
    closing.join(patience_s)
    return not closing.is_alive()


def parse_address(address: str) -> tuple[str, int]:
    """(host, port) of HOST:PORT, an IPv6 host in its brackets.

    Raises:
        ConfigError: not HOST:PORT with a port in [0, 65535].
    """
    host, _, port = address.rpartition(":")
    if not host or not port.isdecimal() or int(port) > 65_535 or (":" in host and host[0] != "["):
        raise ConfigError(f"{address!r}: not an address HOST:PORT")
    return host, int(port)


def _is_loopback(host: str) -> bool:
    if host == "localhost":
        return True
    try:
        return ipaddress.ip_address(host.strip("[]")).is_loopback
    except ValueError:
        return False


def _limits(max_message_bytes: int) -> list[tuple[str, int]]:
    return [
        ("grpc.max_receive_message_length", max_message_bytes),
        ("grpc.max_send_message_length", max_message_bytes),
    ]


class _Guard(grpc.ServerInterceptor):  # type: ignore[misc]  # grpc is untyped
    """Refuses unary calls that are unreadable (bytes that are no message) or whose caller gave up."""

    def intercept_service(self, continuation: Callable[[Any], Any], details: grpc.HandlerCallDetails) -> Any:
        handler = continuation(details)
        if handler is None or handler.unary_unary is None or handler.request_deserializer is None:
            return handler
        read, behave = handler.request_deserializer, handler.unary_unary

        def readable(data: bytes) -> Any:
            try:
                return read(data)
            except DecodeError as error:
                return error

        def behaving(request: Any, context: grpc.ServicerContext) -> Any:
            if isinstance(request, DecodeError):
                with translating(context):
                    raise errors.WireError(f"unreadable message: {request}")
            if not context.is_active():
                context.abort(grpc.StatusCode.CANCELLED, "the caller gave up")
            return behave(request, context)

        return grpc.unary_unary_rpc_method_handler(behaving, readable, handler.response_serializer)
