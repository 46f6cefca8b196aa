"""One self-contained HTML page, and figures for a paper, from a run or a sweep."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated

import typer

from core.cli_config import ConfigFile

app = typer.Typer(
    add_completion=False, rich_markup_mode=None, context_settings={"help_option_names": ["-h", "--help"]}
)

_EXAMPLES = """
\b
Examples:
  scr report out/run
  scr report out/run --out report.html --figures figures --format pdf --format png
  scr report out/sweep
"""


@app.command(epilog=_EXAMPLES)
def report(
    folder: Annotated[Path, typer.Argument(metavar="DIR", help="The --out of scr sim run or scr sim sweep.")],
    out: Annotated[
        Path | None, typer.Option(metavar="FILE", help="The page to write [DIR/report.html].")
    ] = None,
    figures: Annotated[
        Path | None, typer.Option(metavar="DIR", help="Also write the figures one by one, for a paper.")
    ] = None,
    format: Annotated[
        list[str] | None, typer.Option(metavar="NAME", help="png, svg or pdf; may be repeated [all].")
    ] = None,
    projection: Annotated[
        bool, typer.Option("--projection/--no-projection", help="Draw the documents in the plane.")
    ] = True,
    seed: Annotated[int, typer.Option(help="Accepted everywhere; nothing here is random.")] = 0,
    config: ConfigFile = None,
) -> None:
    """Write one HTML file that shows a run or a sweep; it needs no network and no server."""
    from core.paths import write_atomic
    from sim.report.build import build_page, write_figures

    page = build_page(folder, projection=projection)
    target = out if out is not None else folder / "report.html"
    write_atomic(target, page)
    if figures is not None:
        names = write_figures(folder, figures, tuple(format or ()), projection=projection)
        sys.stdout.write(f"{len(names)} figures in {figures}\n")
    sys.stdout.write(f"report: {target}\n")
