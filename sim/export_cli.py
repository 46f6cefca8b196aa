"""`scr sim export`: rounds for evaluators that run beside this project."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated

import typer

from core.cli_config import ConfigFile

EXAMPLES = """
\b
Examples:
  scr sim export --format ragas out/nq --out nq.jsonl
  scr sim export --format deepeval out/nq --arm ms_rag --out undefended.json
"""


def export(
    folder: Annotated[Path, typer.Argument(metavar="DIR", help="Folder of a finished `scr sim run`.")],
    form: Annotated[
        str, typer.Option("--format", metavar="FORM", help="ragas (JSON lines) or deepeval (JSON).")
    ],
    out: Annotated[Path, typer.Option(metavar="FILE", help="File to write.")],
    arm: Annotated[
        str | None, typer.Option(metavar="ARM", help="An arm of the comparison [the chosen defense].")
    ] = None,
    seed: Annotated[int, typer.Option(help="Accepted everywhere; nothing here is random.")] = 0,
    config: ConfigFile = None,
) -> None:
    """Write the rounds of a run in the input form of ragas or deepeval."""
    from sim.export import export_rounds

    count = export_rounds(folder, form, out, arm)
    sys.stdout.write(f"{count} rounds in {out}\n")
