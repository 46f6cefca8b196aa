"""Prometheus metrics of a server: counts and durations by method and status, never a name or a text."""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Iterator, Mapping
from typing import Any

import grpc

from core.errors import ConfigError, MissingPackageError
from core.rpc import parse_address

_LOG = logging.getLogger(__name__)
_BUCKETS = (0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0)


class Metrics:
    """A registry of its own; safe for threads.

    Raises:
        MissingPackageError: no `prometheus-client`.
    """

    def __init__(self) -> None:
        try:
            import prometheus_client as prometheus
        except ModuleNotFoundError:
            raise MissingPackageError(
                "metrics need the package 'prometheus-client': pip install 'securecollarag[node]'"
            ) from None
        self.registry = prometheus.CollectorRegistry()
        prometheus.ProcessCollector(registry=self.registry)
        self._requests = prometheus.Counter(
            "scr_requests",
            "Requests that ended, by method and status.",
            ["method", "code"],
            registry=self.registry,
        )
        self._seconds = prometheus.Histogram(
            "scr_request_seconds", "How long they took.", ["method"], buckets=_BUCKETS, registry=self.registry
        )
        self._running = prometheus.Gauge(
            "scr_requests_running", "Requests that run now.", registry=self.registry
        )
        self._http: tuple[Any, Any] | None = None

    def seen(self, method: str, code: grpc.StatusCode, seconds: float) -> None:
        """Count a request that has ended; `method` is one of the service's, never a caller's word."""
        self._requests.labels(method, code.name).inc()
        self._seconds.labels(method).observe(seconds)

    def gauge(self, name: str, meaning: str, read: Callable[[], float]) -> None:
        """A number that is read when somebody looks."""
        import prometheus_client as prometheus

        prometheus.Gauge(name, meaning, registry=self.registry).set_function(read)

    def counter(self, name: str, meaning: str) -> Callable[[float], None]:
        """A number that only grows; call the result with what to add."""
        import prometheus_client as prometheus

        return prometheus.Counter(name, meaning, registry=self.registry).inc

    def totals(self, name: str, meaning: str, label: str, read: Callable[[], Mapping[str, int]]) -> None:
        """Numbers that only grow, one for each value of `label`, read when somebody looks."""
        from prometheus_client.core import CounterMetricFamily

        class Totals:
            def collect(self) -> Iterator[Any]:
                family = CounterMetricFamily(name, meaning, labels=[label])
                for value, total in read().items():
                    family.add_metric([value], total)
                yield family

        self.registry.register(Totals())

    def interceptor(self) -> grpc.ServerInterceptor:
        """Counts the unary calls of a gRPC server."""
        return _Counting(self)

    def serve(self, address: str) -> str:
        """Offer the metrics over plain HTTP at `address` (HOST:PORT, port 0: any); where exactly.

        Raises:
            ConfigError: bad address, or the port is taken.
        """
        import prometheus_client as prometheus

        host, port = parse_address(address)
        try:
            self._http = prometheus.start_http_server(port, host.strip("[]"), registry=self.registry)
        except OSError as error:
            raise ConfigError(f"cannot offer metrics on {address}: {error.strerror or error}") from None
        at = f"{host}:{self._http[0].server_port}"
        _LOG.info("metrics at %s", at)
        return at

    def close(self) -> None:
        """Stop offering them; idempotent."""
        if self._http is not None:
            server, thread = self._http
            self._http = None
            server.shutdown()
            server.server_close()
            thread.join(5.0)

    def _around(self, method: str, behave: Callable[..., Any], request: Any, context: Any) -> Any:
        self._running.inc()
        began = time.perf_counter()
        try:
            reply = behave(request, context)
        except BaseException:
            self.seen(method, context.code() or grpc.StatusCode.UNKNOWN, time.perf_counter() - began)
            raise
        finally:
            self._running.dec()
        self.seen(method, context.code() or grpc.StatusCode.OK, time.perf_counter() - began)
        return reply


class _Counting(grpc.ServerInterceptor):  # type: ignore[misc]  # grpc is untyped
    def __init__(self, metrics: Metrics) -> None:
        self._metrics = metrics

    def intercept_service(self, continuation: Callable[[Any], Any], details: grpc.HandlerCallDetails) -> Any:
        handler = continuation(
            details
        )  # None for a method that nobody serves: a stranger's word, not counted
        if handler is None or handler.unary_unary is None:
            return handler
        method, behave = details.method.rpartition("/")[2], handler.unary_unary

        def counted(request: Any, context: grpc.ServicerContext) -> Any:
            return self._metrics._around(method, behave, request, context)

        return grpc.unary_unary_rpc_method_handler(
            counted, handler.request_deserializer, handler.response_serializer
        )
