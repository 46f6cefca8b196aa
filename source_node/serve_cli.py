"""`scr source serve`: from flags and files to a node that answers."""

from __future__ import annotations

import os
from contextlib import ExitStack
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from core.config import load
from core.errors import ConfigError
from core.memory import settle

if TYPE_CHECKING:
    from core.metrics import Metrics
    from core.rpc import Server
    from core.tls import TlsFiles
    from source_node.access.admission import Admission
    from source_node.config import ServeConfig
    from source_node.desk import Desk
    from source_node.dial import Dialler
    from source_node.live import LiveNode
    from source_node.sanitize.base import Sanitizer
    from source_node.servicer import Identify

EXAMPLES = """Examples:

  scr source serve --store store --source-id clinic --listen 127.0.0.1:5001 --insecure

  scr source serve --store store --source-id clinic --dial agg.example:6001 --tls-cert tls/clinic.crt --tls-key tls/clinic.key --tls-ca tls/ca.crt

  scr source serve --store store --source-id clinic --listen 0.0.0.0:5001 --tls-cert tls/clinic.crt --tls-key tls/clinic.key --tls-ca tls/ca.crt --policy callers.yaml

A policy names the callers, each with what it may do; whoever is not named is refused:

  callers: {aggregator: {top_k: 10, rate: 20}, study: {categories: [cardiology], epsilon_budget: 50}}
"""  # noqa: E501 - a command line that can be copied


def serve_command(
    store: Annotated[Path | None, typer.Option(metavar="DIR", help="What `ingest` made.")] = None,
    source_id: Annotated[
        str | None, typer.Option(metavar="ID", help="This node's id, a DNS name in its certificate.")
    ] = None,
    listen: Annotated[str | None, typer.Option(metavar="HOST:PORT", help="Port 0 takes a free one.")] = None,
    tls_cert: Annotated[
        Path | None, typer.Option(metavar="FILE", help="PEM certificate of this node.")
    ] = None,
    tls_key: Annotated[
        Path | None, typer.Option(metavar="FILE", help="PEM private key of this node.")
    ] = None,
    tls_ca: Annotated[Path | None, typer.Option(metavar="FILE", help="PEM authority of callers.")] = None,
    dial: Annotated[
        str | None,
        typer.Option(metavar="HOST:PORT", help="Open no port: connect to an aggregator's --accept-dialled."),
    ] = None,
    aggregator_name: Annotated[
        str | None,
        typer.Option(metavar="NAME", help="With --dial: the aggregator's certified name, if not the host."),
    ] = None,
    insecure: Annotated[
        bool | None, typer.Option("--insecure", help="No TLS at all; loopback addresses only.")
    ] = None,
    policy: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="YAML: who may ask, and how much; read again on change."),
    ] = None,
    tokens: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="Callers show a token of `scr source token`, not a certificate."),
    ] = None,
    audit: Annotated[
        Path | None, typer.Option(metavar="DIR", help="The audit log's folder; without: audit in the store.")
    ] = None,
    retriever: Annotated[str | None, typer.Option(metavar="NAME", help="dense, bm25, hybrid, …")] = None,
    embedder: Annotated[
        str | None, typer.Option(metavar="NAME", help="The store's own unless you say so.")
    ] = None,
    max_top_k: Annotated[int | None, typer.Option(help="Most documents in one reply.")] = None,
    sanitize: Annotated[
        str | None,
        typer.Option(metavar="DETECTOR", help="Take identifiers out of what leaves: patterns, …"),
    ] = None,
    memory_limit: Annotated[
        int | None, typer.Option(metavar="MIB", help="Refuse requests while the process holds more.")
    ] = None,
    metrics: Annotated[
        str | None, typer.Option(metavar="HOST:PORT", help="Offer Prometheus metrics there, over plain HTTP.")
    ] = None,
    log_format: Annotated[
        str | None, typer.Option(metavar="FORMAT", help="text, or json: one object a line on stderr.")
    ] = None,
    seed: Annotated[int | None, typer.Option(help="Accepted everywhere; nothing here is random.")] = None,
    config: Annotated[
        Path | None, typer.Option(metavar="FILE", help="YAML of the same keys; flags override it.")
    ] = None,
) -> None:
    """Serve a store over gRPC until SIGTERM or Ctrl-C; prints `listening HOST:PORT` once it serves.

    With --dial it prints `connected HOST:PORT` once it is connected; --listen beside it is possible.

    Certificates, the policy and tokens are read again when their files change.
    """
    from source_node.config import ServeConfig

    flags = {
        "store": store,
        "source_id": source_id,
        "listen": listen,
        "tls_cert": tls_cert,
        "tls_key": tls_key,
        "tls_ca": tls_ca,
        "dial": dial,
        "aggregator_name": aggregator_name,
        "insecure": insecure,
        "policy": policy,
        "tokens": tokens,
        "audit": audit,
        "retriever": retriever,
        "embedder": embedder,
        "max_top_k": max_top_k,
        "sanitize": sanitize,
        "memory_limit_mib": memory_limit,
        "metrics": metrics,
        "log_format": log_format,
        "seed": seed,
    }
    _serve(load(ServeConfig, config, flags))


def _serve(settings: ServeConfig) -> None:
    # requests already run side by side: a product split over all cores is four times slower under load
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")  # read when numpy is first imported
    from core.logs import use_log_format
    from core.signals import stop_asked
    from core.tls import tls_from_flags

    if settings.listen is None and settings.dial is None:
        raise ConfigError("command line: 'listen' is missing (or dial)")
    use_log_format(settings.log_format)
    tls = tls_from_flags(settings.tls_cert, settings.tls_key, settings.tls_ca, insecure=settings.insecure)
    admission = _admission(settings)
    with ExitStack() as stack:
        node = _node(settings, admission, stack)
        metrics = _metrics(settings, node, stack)
        desk = _desk(settings, node, admission, metrics, stack)
        server = None if settings.listen is None else _server(settings, desk, tls, metrics)
        dialler = None if settings.dial is None else _dialler(settings, desk, tls, metrics)
        node.warm_up()
        settle()
        with stop_asked() as asked:
            if server is not None:
                stack.callback(server.stop, settings.grace_s)
                server.start()
                _announce(f"listening {server.address}")
            if dialler is not None:
                stack.callback(dialler.stop, settings.grace_s)
                dialler.start()
                while not asked.is_set() and not dialler.connected.wait(0.2):
                    continue
                if dialler.connected.is_set():
                    _announce(f"connected {dialler.address}")
            asked.wait()
            stack.close()  # the signals stay ours until everything has stopped


def _server(settings: ServeConfig, desk: Desk, tls: TlsFiles | None, metrics: Metrics | None) -> Server:
    from source_node.servicer import serve

    return serve(
        desk,
        settings.listen or "",
        tls,
        settings.insecure,
        identify=_identify(settings),
        workers=settings.workers,
        max_concurrent=settings.max_concurrent,
        interceptors=() if metrics is None else (metrics.interceptor(),),
    )


def _dialler(settings: ServeConfig, desk: Desk, tls: TlsFiles | None, metrics: Metrics | None) -> Dialler:
    from core.tls import check_server_name
    from source_node.dial import Dialler

    if tls is not None:  # a wrong certificate shows now, not at the aggregator
        check_server_name(tls, settings.source_id)
    return Dialler(
        desk,
        settings.dial or "",
        tls,
        settings.aggregator_name,
        workers=settings.workers,
        max_concurrent=settings.max_concurrent,
        seen=None if metrics is None else metrics.seen,
    )


def _metrics(settings: ServeConfig, node: LiveNode, stack: ExitStack) -> Metrics | None:
    if settings.metrics is None:
        return None
    from core.metrics import Metrics

    metrics = Metrics()
    metrics.gauge("scr_documents", "Documents that the node holds.", lambda: node.describe().n_documents)
    if (sanitizer := node.sanitizer) is not None:
        meaning = "Identifiers taken out of what left, by kind."
        metrics.totals("scr_identifiers_removed", meaning, "kind", lambda: sanitizer.counts)
    stack.callback(metrics.close)
    metrics.serve(settings.metrics)
    return metrics


def _admission(settings: ServeConfig) -> Admission | None:
    if settings.policy is None:
        return None
    from core.watched import Watched
    from source_node.access.admission import Admission
    from source_node.access.policy import read_policy

    path = settings.policy
    return Admission(Watched([path], lambda: read_policy(path)).get)


def _identify(settings: ServeConfig) -> Identify | None:
    if settings.tokens is None:
        return None
    if settings.insecure:
        raise ConfigError("--tokens needs TLS: without it everybody on the way could use them")
    from core.watched import Watched
    from source_node.access.tokens import TokenGate, read_tokens

    path = settings.tokens
    return TokenGate(settings.source_id, Watched([path], lambda: read_tokens(path)).get)


def _node(settings: ServeConfig, admission: Admission | None, stack: ExitStack) -> LiveNode:
    from source_node.accountant import Accountant
    from source_node.live import LiveNode
    from source_node.node import SourceNode
    from source_node.privacy import PrivacyGate, PrivacyPolicy

    privacy, budget_of = settings.privacy, None
    if admission is not None:
        budget_of = admission.epsilon_budget
        if privacy is None and admission.any_budget():
            privacy = PrivacyPolicy()  # a caller with a budget can only spend it where privacy is offered
    gate = None
    if privacy is not None:
        ledger = settings.privacy_ledger or settings.store / "privacy.sqlite"
        gate = PrivacyGate(privacy, Accountant(ledger, privacy.budget, budget_of=budget_of))
    sanitizer = _sanitizer(settings, stack)

    def opened() -> SourceNode:
        return SourceNode.open(
            settings.store,
            settings.source_id,
            settings.embedder,
            settings.retriever,
            settings.retriever_options,
            max_top_k=settings.max_top_k,
            privacy=gate,
            sanitizer=sanitizer,
        )

    return LiveNode(settings.store, opened)


def _sanitizer(settings: ServeConfig, stack: ExitStack) -> Sanitizer | None:
    if settings.sanitize is None:
        return None
    from source_node.sanitize import DETECTORS
    from source_node.sanitize.base import Sanitizer
    from source_node.sanitize.ledger import LEDGER, RemovedLedger

    detector = DETECTORS.get(settings.sanitize)()
    if not settings.store.is_dir():  # told by whoever opens the store: make no folder of that name here
        return Sanitizer(settings.sanitize, detector)
    ledger = RemovedLedger(settings.store / LEDGER)
    stack.callback(ledger.close)
    return Sanitizer(settings.sanitize, detector, ledger.add)


def _desk(
    settings: ServeConfig,
    node: LiveNode,
    admission: Admission | None,
    metrics: Metrics | None,
    stack: ExitStack,
) -> Desk:
    from core.memory import MemoryLimit
    from source_node.audit import AuditLog
    from source_node.desk import Desk

    limit = settings.memory_limit_mib
    log = AuditLog(settings.audit or settings.store / "audit")
    stack.callback(log.close)
    count = None
    if metrics is not None:
        count = metrics.counter("scr_documents_sent", "Documents that left in replies.")
    return Desk(
        node,
        settings.max_top_k,
        admission=admission,
        log=log,
        memory=None if limit is None else MemoryLimit(limit << 20),
        sent=count,
    )


def _announce(line: str) -> None:
    typer.echo(line)  # flushes: whoever started the node may wait for this line on a pipe
