"""Ingest an institution's documents and serve them as a source node."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from core.config import load
from source_node.audit_cli import app as audit_app

if TYPE_CHECKING:
    from core.embedding.base import Embedder
    from source_node.config import IngestConfig, ServeConfig
    from source_node.ingest import IngestReport
    from source_node.node import SourceNode

app = typer.Typer(
    no_args_is_help=True,
    add_completion=False,
    help="Ingest an institution's documents and serve them as a source node.",
    context_settings={"help_option_names": ["-h", "--help"]},
)
app.add_typer(audit_app, name="audit")
_INGEST_EXAMPLES = """Examples:

  scr source ingest --input corpus.jsonl --store store

  scr source ingest --input ../shared/data/nq --store store --embedder hashing --prune
"""
_SERVE_EXAMPLES = """Examples:

  scr source serve --store store --source-id clinic --listen 127.0.0.1:5001 --insecure

  scr source serve --store store --source-id clinic --listen 0.0.0.0:5001 --tls-cert clinic.pem --tls-key clinic.key --tls-ca ca.pem --retriever hybrid
"""  # noqa: E501 - a command line that can be copied
_Config = Annotated[
    Path | None, typer.Option(metavar="FILE", help="YAML of the same keys; flags override it.")
]
_Seed = Annotated[int | None, typer.Option(help="Accepted everywhere; nothing here is random.")]


@app.callback()
def _group() -> None:
    """Ingest an institution's documents and serve them as a source node."""


@app.command("ingest", epilog=_INGEST_EXAMPLES)
def ingest_command(
    input_: Annotated[
        Path | None, typer.Option("--input", metavar="PATH", help="A corpus.jsonl, or a folder with one.")
    ] = None,
    store: Annotated[Path | None, typer.Option(metavar="DIR", help="The store, made if missing.")] = None,
    embedder: Annotated[
        str | None, typer.Option(metavar="NAME", help="What makes the vectors; 'none' for BM25 only.")
    ] = None,
    prune: Annotated[
        bool | None, typer.Option("--prune", help="Also remove documents that the input lacks.")
    ] = None,
    batch: Annotated[int | None, typer.Option(help="Documents embedded and committed at once.")] = None,
    seed: _Seed = None,
    config: _Config = None,
) -> None:
    """Bring a store up to a corpus: new and changed documents only; after a crash, run it again."""
    from source_node.config import IngestConfig

    settings = load(
        IngestConfig,
        config,
        {"input": input_, "store": store, "embedder": embedder, "prune": prune, "batch": batch, "seed": seed},
    )
    report = _ingest(settings)
    typer.echo(
        f"{settings.store}: {report.total} documents ({report.new} new, {report.changed} changed, "
        f"{report.unchanged} unchanged, {report.removed} removed)"
    )


@app.command("serve", epilog=_SERVE_EXAMPLES)
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
    retriever: Annotated[str | None, typer.Option(metavar="NAME", help="dense, bm25, hybrid, …")] = None,
    embedder: Annotated[
        str | None, typer.Option(metavar="NAME", help="The store's own unless you say so.")
    ] = None,
    max_top_k: Annotated[int | None, typer.Option(help="Most documents in one reply.")] = None,
    seed: _Seed = None,
    config: _Config = None,
) -> None:
    """Serve a store over gRPC until SIGTERM or Ctrl-C; prints `listening HOST:PORT` once it serves."""
    from source_node.config import ServeConfig

    flags = {
        "store": store,
        "source_id": source_id,
        "listen": listen,
        "tls_cert": tls_cert,
        "tls_key": tls_key,
        "tls_ca": tls_ca,
        "insecure": insecure,
        "retriever": retriever,
        "embedder": embedder,
        "max_top_k": max_top_k,
        "seed": seed,
    }
    _serve(load(ServeConfig, config, flags))


def _ingest(settings: IngestConfig) -> IngestReport:
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

    from source_node.corpus import count_lines, read_corpus
    from source_node.ingest import ingest

    lines = count_lines(settings.input)
    embedder, name = _embedder(settings)
    columns = (TextColumn("ingest"), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn())
    with Progress(*columns, console=Console(stderr=True), transient=False) as bar:
        task = bar.add_task("ingest", total=lines)
        return ingest(
            read_corpus(settings.input),
            settings.store,
            embedder,
            embedder_name=name,
            prune=settings.prune,
            batch=settings.batch,
            progress=lambda done: bar.update(task, completed=done),
        )


def _embedder(settings: IngestConfig) -> tuple[Embedder | None, str | None]:
    """The embedder of an ingest and its name; the store keeps the vectors, so no cache stands in front."""
    from core.embedding import DEFAULT_EMBEDDER, open_embedder
    from source_node.ingest import embedder_of

    made_with = embedder_of(settings.store)
    name = settings.embedder or (made_with if made_with is not None else DEFAULT_EMBEDDER)
    if name == "none":
        return None, None
    return open_embedder(name, memory_only=True).inner, name


def _serve(settings: ServeConfig) -> None:
    # requests already run side by side: a product split over all cores is four times slower under load
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")  # read when numpy is first imported
    from core.tls import tls_from_flags
    from source_node.servicer import serve

    tls = tls_from_flags(settings.tls_cert, settings.tls_key, settings.tls_ca, insecure=settings.insecure)
    node = _node(settings)
    server = serve(
        node,
        settings.listen,
        tls,
        settings.insecure,
        settings.max_top_k,
        workers=settings.workers,
        max_concurrent=settings.max_concurrent,
    )
    node.warm_up()
    server.run_until_signal(_announce, settings.grace_s)


def _node(settings: ServeConfig) -> SourceNode:
    from source_node.accountant import Accountant
    from source_node.node import SourceNode
    from source_node.privacy import PrivacyGate

    gate = None
    if settings.privacy is not None:
        ledger = settings.privacy_ledger or settings.store / "privacy.sqlite"
        gate = PrivacyGate(settings.privacy, Accountant(ledger, settings.privacy.budget))
    return SourceNode.open(
        settings.store,
        settings.source_id,
        settings.embedder,
        settings.retriever,
        settings.retriever_options,
        max_top_k=settings.max_top_k,
        privacy=gate,
    )


def _announce(line: str) -> None:
    typer.echo(line)  # flushes: whoever started the node may wait for this line on a pipe
