"""Ingest an institution's documents and serve them as a source node."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from core.config import load
from source_node.audit_cli import app as audit_app
from source_node.serve_cli import EXAMPLES as SERVE_EXAMPLES
from source_node.serve_cli import serve_command

if TYPE_CHECKING:
    from core.embedding.base import Embedder
    from source_node.config import IngestConfig
    from source_node.ingest import IngestReport

app = typer.Typer(
    no_args_is_help=True,
    add_completion=False,
    help="Ingest an institution's documents and serve them as a source node.",
    context_settings={"help_option_names": ["-h", "--help"]},
)
_INGEST_EXAMPLES = """Examples:

  scr source ingest --input corpus.jsonl --store store

  scr source ingest --input ../shared/data/nq --store store --embedder hashing --prune
"""
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


app.command("serve", epilog=SERVE_EXAMPLES)(serve_command)
app.add_typer(audit_app, name="audit")


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
