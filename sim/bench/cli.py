"""Benchmarks: what this machine takes, beside a baseline measured in the same run."""

from __future__ import annotations

import json
import sys
from typing import Annotated

import typer

from core.cli_config import ConfigFile

app = typer.Typer(
    add_completion=False,
    rich_markup_mode=None,
    context_settings={"help_option_names": ["-h", "--help"]},
)

_EXAMPLES = """
\b
Examples:
  scr bench
  scr bench fan-out --json
  scr bench verify --small
"""


@app.command(epilog=_EXAMPLES)
def bench(
    name: Annotated[
        str | None, typer.Argument(help="Which benchmark; without one, their names are listed.")
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON.")] = False,
    repeats: Annotated[
        int | None, typer.Option(min=1, metavar="N", help="Measurements; the benchmark's own number without.")
    ] = None,
    small: Annotated[
        bool,
        typer.Option("--small", help="A trial in seconds: all of it at a small size, no figures to quote."),
    ] = False,
    seed: Annotated[int, typer.Option(min=0, metavar="S", help="What every draw descends from.")] = 0,
    config: ConfigFile = None,
) -> None:
    """Run a benchmark; a ratio above 1 means better than the baseline."""
    from sim.bench import BENCHMARKS
    from sim.bench.result import BenchOptions, machine

    if name is None:
        sys.stdout.write("\n".join(BENCHMARKS.names()) + "\n")
        return
    results = BENCHMARKS.get(name)(BenchOptions(seed=seed, repeats=repeats, small=small))
    if as_json:
        report = {"bench": name, "machine": machine(), "results": [result.as_json() for result in results]}
        sys.stdout.write(json.dumps(report, indent=2) + "\n")
        return
    for result in results:
        line = f"{result.name:32} {result.value:12.3f} {result.unit}"
        if result.ratio is not None:
            line += f"   baseline {result.baseline:.3f} {result.unit}, ratio {result.ratio:.2f}"
        sys.stdout.write(line + "\n")
