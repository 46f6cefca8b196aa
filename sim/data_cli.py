"""Public data sets and local files, made into the project's folder form."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated

import typer

from core.cli_config import ConfigFile

app = typer.Typer(
    help="Public data sets and local files, made into the project's folder form.",
    no_args_is_help=True,
    add_completion=False,
    rich_markup_mode=None,
    context_settings={"help_option_names": ["-h", "--help"]},
)

_EXAMPLES = """
\b
Examples:
  scr data get nq --documents 20000 --queries 100 --poison nq-attack.json --out data/nq
  scr data get fiqa --from fiqa.zip --out data/fiqa
  scr data get finance-alpaca --from alpaca.json --out data/finance
"""


@app.callback()
def _group() -> None:
    """Public data sets and local files, made into the project's folder form."""


@app.command("list", epilog="Example: scr data list")
def show(
    seed: Annotated[int, typer.Option(help="Accepted everywhere; nothing here is random.")] = 0,
    config: ConfigFile = None,
) -> None:
    """Print every data set that has a name, where it comes from and its licence."""
    from sim.data.catalogue import DATA_SETS

    for one in DATA_SETS.values():
        origin = one.fetched.split()[1] if one.fetched else "--from PATH"
        sys.stdout.write(f"{one.name:15} {one.title} [{origin}]; licence: {one.licence}\n")


@app.command(epilog=_EXAMPLES)
def get(
    name: Annotated[str, typer.Argument(metavar="NAME", help="One of scr data list.")],
    out: Annotated[Path, typer.Option(metavar="DIR", help="The folder to make.")],
    source: Annotated[
        Path | None,
        typer.Option("--from", metavar="PATH", help="File or folder of your own instead of fetching."),
    ] = None,
    poison: Annotated[
        Path | None, typer.Option(metavar="FILE", help="PoisonedRAG's attack JSON: answers and poisons.")
    ] = None,
    documents: Annotated[
        int | None,
        typer.Option(min=1, metavar="N", help="Most documents; those that answer a question always come."),
    ] = None,
    queries: Annotated[
        int | None, typer.Option(min=1, metavar="Q", help="Most questions, poisoned ones first.")
    ] = None,
    split: Annotated[
        str, typer.Option(metavar="NAME", help="Split of a BEIR data set's judgements.")
    ] = "test",
    seed: Annotated[int, typer.Option(help="Accepted everywhere; nothing here is random.")] = 0,
    config: ConfigFile = None,
) -> None:
    """Make a folder that --dataset takes, from a public data set or from files of your own."""
    from sim.data.build import build
    from sim.data.catalogue import find

    one = find(name)
    sys.stderr.write(f"{one.title}; licence: {one.licence}\n")
    made = build(one, out, source=source, attack=poison, documents=documents, queries=queries, split=split)
    if made.borrowed:
        sys.stderr.write(
            f"{made.borrowed} questions have no answer of their own: "
            "the first sentence of a relevant document stands for it\n"
        )
    counts = f"{made.documents} documents, {made.questions} questions, {made.poisons} poison records"
    sys.stdout.write(f"{out}: {counts}\n")
