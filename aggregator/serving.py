"""`scr aggregator serve`: an aggregator with its servers, from start to a graceful stop."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import ExitStack

from aggregator.assembly import assemble
from aggregator.config import AggregatorConfig
from aggregator.servicer import serve
from aggregator.tunnel import TunnelHub, serve_tunnels
from core.errors import ConfigError
from core.logs import use_log_format
from core.memory import settle
from core.tls import TlsFiles

_GRACE_S = 5.0


def run(config: AggregatorConfig, tls: TlsFiles | None, announce: Callable[[str], None]) -> None:
    """Serve until SIGTERM or SIGINT, then end what was begun.

    `announce` is told `listening HOST:PORT`, then `accepting HOST:PORT` where sources dial in.

    Raises:
        ScrError: a part is missing, a port taken, a file unusable.
    """
    if config.listen is None:
        raise ConfigError("--listen HOST:PORT is missing")
    use_log_format(config.log_format)
    with ExitStack() as stack:
        hub = None if config.accept_dialled is None else TunnelHub()
        aggregator = assemble(config, tls, hub)
        stack.callback(aggregator.close)
        interceptors = []
        if config.metrics is not None:
            from core.metrics import Metrics

            metrics = Metrics()
            stack.callback(metrics.close)
            metrics.serve(config.metrics)
            interceptors.append(metrics.interceptor())
            if hub is not None:
                reached = hub
                metrics.gauge(
                    "scr_dialled_sources", "Sources that are dialled in.", lambda: len(reached.connected())
                )
        server = serve(
            aggregator,
            config.listen,
            tls,
            insecure=config.insecure,
            top_k=config.top_k,
            operators=config.operators,
            interceptors=interceptors,
        )
        if aggregator.embedder is not None:
            aggregator.embedder.embed(["warm"])  # the first question must not wait for the model
        if hub is not None and config.accept_dialled is not None:
            tunnels = serve_tunnels(hub, config.accept_dialled, tls, config.insecure)
            stack.callback(tunnels.stop, _GRACE_S)
            stack.callback(hub.close)
            tunnels.start()
            accepting = f"accepting {tunnels.address}"
        else:
            accepting = ""

        def tell(line: str) -> None:
            announce(line)
            if accepting:
                announce(accepting)

        settle()
        server.run_until_signal(tell, _GRACE_S)
