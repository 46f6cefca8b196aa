"""`scr source serve`: from flags and files to a node that answers."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from core.config import load
from core.errors import ConfigError

if TYPE_CHECKING:
    from source_node.access.admission import Admission
    from source_node.audit import AuditLog
    from source_node.config import ServeConfig
    from source_node.desk import Desk
    from source_node.node import SourceNode
    from source_node.servicer import Identify

EXAMPLES = """Examples:

  scr source serve --store store --source-id clinic --listen 127.0.0.1:5001 --insecure

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
    memory_limit: Annotated[
        int | None, typer.Option(metavar="MIB", help="Refuse requests while the process holds more.")
    ] = None,
    seed: Annotated[int | None, typer.Option(help="Accepted everywhere; nothing here is random.")] = None,
    config: Annotated[
        Path | None, typer.Option(metavar="FILE", help="YAML of the same keys; flags override it.")
    ] = None,
) -> None:
    """Serve a store over gRPC until SIGTERM or Ctrl-C; prints `listening HOST:PORT` once it serves.

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
        "insecure": insecure,
        "policy": policy,
        "tokens": tokens,
        "audit": audit,
        "retriever": retriever,
        "embedder": embedder,
        "max_top_k": max_top_k,
        "memory_limit_mib": memory_limit,
        "seed": seed,
    }
    _serve(load(ServeConfig, config, flags))


def _serve(settings: ServeConfig) -> None:
    # requests already run side by side: a product split over all cores is four times slower under load
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")  # read when numpy is first imported
    from core.tls import tls_from_flags
    from source_node.servicer import serve

    tls = tls_from_flags(settings.tls_cert, settings.tls_key, settings.tls_ca, insecure=settings.insecure)
    admission = _admission(settings)
    node = _node(settings, admission)
    desk, log = _desk(settings, node, admission)
    try:
        server = serve(
            desk,
            settings.listen,
            tls,
            settings.insecure,
            identify=_identify(settings),
            workers=settings.workers,
            max_concurrent=settings.max_concurrent,
        )
        node.warm_up()
        server.run_until_signal(_announce, settings.grace_s)
    finally:
        log.close()


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


def _node(settings: ServeConfig, admission: Admission | None) -> SourceNode:
    from source_node.accountant import Accountant
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
    return SourceNode.open(
        settings.store,
        settings.source_id,
        settings.embedder,
        settings.retriever,
        settings.retriever_options,
        max_top_k=settings.max_top_k,
        privacy=gate,
    )


def _desk(settings: ServeConfig, node: SourceNode, admission: Admission | None) -> tuple[Desk, AuditLog]:
    from core.memory import MemoryLimit
    from source_node.audit import AuditLog
    from source_node.desk import Desk

    limit = settings.memory_limit_mib
    log = AuditLog(settings.audit or settings.store / "audit")
    desk = Desk(
        node,
        settings.max_top_k,
        admission=admission,
        log=log,
        memory=None if limit is None else MemoryLimit(limit << 20),
    )
    return desk, log


def _announce(line: str) -> None:
    typer.echo(line)  # flushes: whoever started the node may wait for this line on a pipe
