"""`scr source ingest`, `withdraw`, `reindex` and `attach`: what an institution does to its own store."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from core.cli_config import ConfigFile
from core.config import load
from core.errors import ConfigError, DataError

INGEST_EXAMPLES = """Examples:

  scr source ingest --input corpus.jsonl --store store

  scr source ingest --input reports/ --store store --chunk-words 200 --chunk-overlap 40

  scr source ingest --input bundle.json --format fhir --store store --prune
"""
WITHDRAW_EXAMPLES = """Examples:

  scr source withdraw --store store report-17 letters/smith.pdf
"""
ATTACH_EXAMPLES = """Examples:

  scr source attach --store store --backend qdrant --embedder minilm --option url=http://127.0.0.1:6333 --option collection=reports

  scr source attach --store store --backend pgvector --embedder minilm --option dsn=dbname=clinic --option table=reports
"""  # noqa: E501 - a command line that can be copied
REINDEX_EXAMPLES = """Examples:

  scr source reindex --store store --embedder sentence-transformer:./model
"""
_Config = Annotated[
    Path | None, typer.Option(metavar="FILE", help="YAML of the same keys; flags override it.")
]
_Seed = Annotated[int | None, typer.Option(help="Accepted everywhere; nothing here is random.")]
_Store = Annotated[Path | None, typer.Option(metavar="DIR", help="The store, made if missing.")]
_Existing = Annotated[Path, typer.Option("--store", metavar="DIR", help="What `ingest` made.")]
_Name = Annotated[str | None, typer.Option(metavar="FIELD")]


def ingest_command(
    input_: Annotated[
        Path | None,
        typer.Option("--input", metavar="PATH", help="JSONL, CSV, Parquet, FHIR, or a folder."),
    ] = None,
    store: _Store = None,
    format_: Annotated[
        str | None, typer.Option("--format", metavar="NAME", help="By the input's suffix unless you say so.")
    ] = None,
    id_field: _Name = None,
    text_field: _Name = None,
    title_field: _Name = None,
    category_from: Annotated[
        str | None, typer.Option(metavar="FIELD", help="Field of the category ('folder' for files).")
    ] = None,
    category_rules: Annotated[
        Path | None, typer.Option(metavar="FILE", help="YAML of patterns, for documents without one.")
    ] = None,
    category_descriptions: Annotated[
        Path | None, typer.Option(metavar="FILE", help="YAML of descriptions: the most similar one.")
    ] = None,
    chunk_words: Annotated[
        int | None, typer.Option(metavar="N", help="Cut documents into chunks of at most N words.")
    ] = None,
    chunk_overlap: Annotated[
        int | None, typer.Option(metavar="M", help="Words that two neighbouring chunks share.")
    ] = None,
    embedder: Annotated[
        str | None, typer.Option(metavar="NAME", help="What makes the vectors; 'none' for BM25 only.")
    ] = None,
    prune: Annotated[
        bool | None,
        typer.Option("--prune", help="Also remove, without a trace, documents that the input lacks."),
    ] = None,
    readmit: Annotated[
        bool | None, typer.Option("--readmit", help="Take back documents that were withdrawn.")
    ] = None,
    skip_bad: Annotated[
        bool | None, typer.Option("--skip-bad", help="Leave out what cannot be read instead of stopping.")
    ] = None,
    batch: Annotated[int | None, typer.Option(help="Rows embedded and committed at once.")] = None,
    seed: _Seed = None,
    config: _Config = None,
) -> None:
    """Bring a store up to a corpus: new and changed documents only; after a crash, run it again."""
    from source_node.config import IngestConfig
    from source_node.ingest_run import run

    flags = {
        "input": input_,
        "store": store,
        "format": format_,
        "id_field": id_field,
        "text_field": text_field,
        "title_field": title_field,
        "category_from": category_from,
        "category_rules": category_rules,
        "category_descriptions": category_descriptions,
        "chunk_words": chunk_words,
        "chunk_overlap": chunk_overlap,
        "embedder": embedder,
        "prune": prune,
        "readmit": readmit,
        "skip_bad": skip_bad,
        "batch": batch,
        "seed": seed,
    }
    settings = load(IngestConfig, config, flags)
    report, skipped = run(settings)
    line = (
        f"{settings.store}: {report.total} documents ({report.new} new, {report.changed} changed, "
        f"{report.unchanged} unchanged, {report.removed} removed)"
    )
    if report.chunks != report.total:
        line += f", {report.chunks} chunks"
    if report.withdrawn:
        line += f", {report.withdrawn} withdrawn ones left out"
    if skipped:
        line += f", {skipped} unreadable ones left out"
    typer.echo(line)


def withdraw_command(
    store: _Existing,
    doc_ids: Annotated[list[str], typer.Argument(metavar="DOC_ID...", help="Documents, or chunks (ID#k).")],
    seed: _Seed = None,
    config: ConfigFile = None,
) -> None:
    """Remove documents without a trace, and keep them out of later ingests of the same input."""
    from source_node.withdraw import withdraw

    done = withdraw(store, doc_ids)
    if done.documents:
        typer.echo(f"{store}: {len(done.documents)} withdrawn ({done.rows} rows), {done.left} rows left")
    if done.unknown:
        others = "; the others are withdrawn" if done.documents else ""
        raise DataError(f"{store}: not in the store: {', '.join(done.unknown)}{others}")


def reindex_command(
    store: _Existing,
    embedder: Annotated[str, typer.Option(metavar="NAME", help="What makes the new vectors.")],
    batch: Annotated[int, typer.Option(min=1, max=500, help="Documents embedded at once.")] = 256,
    seed: _Seed = None,
    config: ConfigFile = None,
) -> None:
    """Embed a store anew beside the node that serves it, then switch at once; killed, run it again."""
    from rich.console import Console
    from rich.progress import Progress

    from core.embedding import open_embedder
    from source_node.reindex import reindex

    if embedder == "none":
        raise ConfigError("a re-index needs an embedder")
    opened = open_embedder(embedder, memory_only=True).inner
    with Progress(console=Console(stderr=True)) as bar:
        task = bar.add_task("reindex", total=None)
        manifest = reindex(
            store,
            opened,
            embedder,
            batch=batch,
            progress=lambda done, total: bar.update(task, completed=done, total=total),
        )
    typer.echo(f"{store}: {manifest.n_documents} vectors of {manifest.identity}")


def attach_command(
    store: Annotated[Path, typer.Option("--store", metavar="DIR", help="A new folder.")],
    backend: Annotated[str, typer.Option(metavar="NAME", help="The kind of the collection: qdrant.")],
    embedder: Annotated[str, typer.Option(metavar="NAME", help="What made the collection's vectors.")],
    option: Annotated[
        list[str] | None, typer.Option(metavar="KEY=VALUE", help="Of the collection: url, collection, …")
    ] = None,
    seed: _Seed = None,
    config: ConfigFile = None,
) -> None:
    """Make a store whose documents and vectors stay in an existing collection; nothing is written there."""
    from core.embedding import open_embedder
    from source_node.attach import attach

    options: dict[str, str] = {}
    for pair in option or []:
        key, found, value = pair.partition("=")
        if not found:
            raise ConfigError(f"--option {pair}: must be KEY=VALUE")
        options[key] = value
    manifest = attach(store, backend, options, open_embedder(embedder, memory_only=True).inner, embedder)
    typer.echo(f"{store}: {manifest.n_documents} documents in a {backend} collection")


def add_commands(app: typer.Typer) -> None:
    """Give `app` these commands."""
    app.command("ingest", epilog=INGEST_EXAMPLES)(ingest_command)
    app.command("withdraw", epilog=WITHDRAW_EXAMPLES)(withdraw_command)
    app.command("attach", epilog=ATTACH_EXAMPLES)(attach_command)
    app.command("reindex", epilog=REINDEX_EXAMPLES)(reindex_command)
