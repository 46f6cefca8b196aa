"""Print a published table beside what is measured here."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated, Any

import typer

from core.config import load
from core.errors import ConfigError

EXAMPLES = """
\b
Examples:
  scr sim reproduce ragpart-3
  scr sim reproduce ragpart-8 --dataset ../shared/data/nq --out out/tables
"""


def reproduce(
    table: Annotated[
        str | None, typer.Argument(help="Name of the table; without one, the names are listed.")
    ] = None,
    dataset: Annotated[str | None, typer.Option(help="BEIR-style folder to measure on.")] = None,
    queries_file: Annotated[Path | None, typer.Option(help="Questions, instead of the folder's.")] = None,
    qrels: Annotated[Path | None, typer.Option(help="Judgements, instead of the folder's.")] = None,
    poison: Annotated[Path | None, typer.Option(help="Poison records, instead of the folder's.")] = None,
    queries: Annotated[int | None, typer.Option(min=1, help="Questions to measure on.")] = None,
    documents: Annotated[int | None, typer.Option(min=1, help="Documents of the corpus to use.")] = None,
    embedder: Annotated[str | None, typer.Option(help="Embedder that retrieves.")] = None,
    llm: Annotated[str | None, typer.Option(help="Language model, for tables that use one.")] = None,
    setting: Annotated[
        list[str] | None, typer.Option("--set", metavar="KEY=VALUE", help="A setting of this table.")
    ] = None,
    full: Annotated[bool | None, typer.Option("--full", help="The paper's size: hours.")] = None,
    seed: Annotated[int | None, typer.Option(min=0, help="What every draw descends from.")] = None,
    out: Annotated[Path | None, typer.Option(help="Folder for TABLE.json.")] = None,
    cache_dir: Annotated[Path | None, typer.Option(help="Folder for embeddings and models.")] = None,
    config: Annotated[Path | None, typer.Option(help="YAML with these keys; flags override it.")] = None,
    quiet: Annotated[bool, typer.Option("--quiet", "-q", help="No progress on stderr.")] = False,
) -> None:
    """Print a published table beside what is measured here, and write it as OUT/TABLE.json."""
    from sim.progress import open_progress
    from sim.reproduce import REPRODUCTIONS
    from sim.reproduce.table import ReproduceOptions

    if table is None:
        sys.stdout.write("\n".join(REPRODUCTIONS.names()) + "\n")
        return
    make = REPRODUCTIONS.get(table)
    flags: dict[str, Any] = {
        "dataset": dataset,
        "queries_file": queries_file,
        "qrels": qrels,
        "poison": poison,
        "queries": queries,
        "documents": documents,
        "embedder": embedder,
        "llm": llm,
        "seed": seed,
        "full": full,
        "cache_dir": cache_dir,
        "setting": _pairs(setting) if setting else None,
    }
    options = load(ReproduceOptions, config, flags)
    result = make(options, open_progress(quiet))
    if out is not None:
        result.write(out)
    sys.stdout.write(result.text() + "\n")


def _pairs(given: list[str]) -> dict[str, str]:
    """`KEY=VALUE` texts as a mapping; the table's own model reads the values."""
    pairs: dict[str, str] = {}
    for text in given:
        key, sign, value = text.partition("=")
        if not sign:
            raise ConfigError(f"--set {text!r} must be KEY=VALUE")
        pairs[key.strip()] = value.strip()
    return pairs
