"""`scr sim sweep`: grids of runs, resumable, one tidy table out."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated, Any

import typer

from core.cli_config import ConfigFile

_EXAMPLES = """
\b
Examples:
  scr sim sweep --attack none,saa,poisonedrag --defense none,scr,ragpart+ragmask --out out/grid
  scr sim sweep --attack poisonedrag:per_source=1 --defense none,none@robustrag --malicious 0.2,0.4 \\
      --replication 1,3 --seed 0,1,2 --dataset data/nq --queries 20 --reader choice --out out/more
  scr sim sweep --preset rivals --dataset data/nq --out out/rivals
  scr sim sweep table out/rivals --markdown
"""

app = typer.Typer(
    help="Run a grid of experiments, or print the table of one.",
    add_completion=False,
    rich_markup_mode=None,
    invoke_without_command=True,
    context_settings={"help_option_names": ["-h", "--help"]},
)


@app.callback(epilog=_EXAMPLES)
def sweep(
    context: typer.Context,
    config: Annotated[
        Path | None, typer.Option(metavar="FILE", help="YAML with axes and base; flags override.")
    ] = None,
    preset: Annotated[str | None, typer.Option(metavar="NAME", help="A sweep by name: rivals.")] = None,
    attack: Annotated[
        list[str] | None,
        typer.Option(metavar="NAMES", help="NAME or NAME:KEY=VALUE; several behind commas, or repeat."),
    ] = None,
    defense: Annotated[
        list[str] | None,
        typer.Option(metavar="NAMES", help="STAGE+STAGE@READER, none or ss-rag; several, or repeat."),
    ] = None,
    malicious: Annotated[list[str] | None, typer.Option(metavar="SHARES", help="[0.4]")] = None,
    dirichlet_alpha: Annotated[list[str] | None, typer.Option(metavar="VALUES", help="[0.5]")] = None,
    replication: Annotated[list[str] | None, typer.Option(metavar="NUMBERS", help="[1]")] = None,
    top_k: Annotated[list[str] | None, typer.Option(metavar="NUMBERS", help="[5]")] = None,
    seed: Annotated[list[str] | None, typer.Option(metavar="SEEDS", help="[0]")] = None,
    dataset: Annotated[
        str | None, typer.Option(metavar="PATH", help="BEIR-style folder, or synthetic.")
    ] = None,
    queries: Annotated[int | None, typer.Option(metavar="Q", help="Questions of each cell.")] = None,
    reader: Annotated[str | None, typer.Option(metavar="NAME", help="Reader of each cell.")] = None,
    setting: Annotated[
        list[str] | None,
        typer.Option(
            "--set", metavar="KEY=VALUE", help="Any other setting of `scr sim run`; may be repeated."
        ),
    ] = None,
    timed: Annotated[
        int | None, typer.Option(metavar="N", help="Rounds on which cost is measured [5].")
    ] = None,
    workers: Annotated[
        int | None, typer.Option(metavar="N", help="Processes on Ray [one per processor]; 1: none, here.")
    ] = None,
    cache_dir: Annotated[Path | None, typer.Option(metavar="DIR", help="Cache folder [SCR_CACHE].")] = None,
    out: Annotated[
        Path | None, typer.Option(metavar="DIR", help="Folder of the sweep; one cut off goes on there.")
    ] = None,
    quiet: Annotated[bool, typer.Option("--quiet", "-q", help="No progress, only warnings.")] = False,
) -> None:
    """Run every combination of the axes and leave table.csv and table.parquet in --out.

    The same command with the same --out goes on where it was interrupted.
    """
    if context.invoked_subcommand is not None:
        return
    from core.errors import ConfigError
    from sim.progress import open_progress
    from sim.sweep.axes import split
    from sim.sweep.runner import run_sweep

    if out is None:
        raise ConfigError("--out DIR is missing: cells and table of the sweep go there")
    axes = {"attack": attack, "defense": defense, "malicious": malicious, "dirichlet_alpha": dirichlet_alpha}
    axes |= {"replication": replication, "top_k": top_k, "seed": seed}
    flags: dict[str, Any] = {name: split(values) for name, values in axes.items() if values}
    flags |= {"timed": timed, "workers": workers, "cache_dir": cache_dir}
    base = {"dataset": dataset, "queries": queries, "reader": reader, **_pairs(setting or [])}
    found = run_sweep(_resolve(config, preset, flags, base), out, open_progress(quiet))
    sys.stdout.write(f"{len(found)} cells in {out}: table.csv, table.parquet\n")


@app.command(epilog="Example: scr sim sweep table out/rivals --markdown")
def table(
    folder: Annotated[Path, typer.Argument(metavar="DIR", help="Folder of a sweep.")],
    markdown: Annotated[bool, typer.Option("--markdown", help="One Markdown table, seeds pooled.")] = False,
    brief: Annotated[
        bool, typer.Option("--brief", help="ASR and accuracy only: attacks by defenses.")
    ] = False,
    reference: Annotated[
        list[str] | None,
        typer.Option(metavar="DEFENSES", help="Compared with these, in the Markdown table [none,scr]."),
    ] = None,
    split: Annotated[
        str | None,
        typer.Option(
            metavar="NAME", help="In Markdown, only questions that training has in this split: test."
        ),
    ] = None,
    seed: Annotated[int, typer.Option(help="Accepted everywhere; nothing here is random.")] = 0,
    config: ConfigFile = None,
) -> None:
    """Print the table of a sweep: CSV with a row a cell, or Markdown with intervals and paired tests."""
    from core.errors import ConfigError
    from sim.sweep.axes import split as entries
    from sim.sweep.markdown import markdown as as_markdown
    from sim.sweep.markdown import matrix
    from sim.sweep.runner import read_sweep
    from sim.sweep.table import as_csv, tidy

    cells = read_sweep(folder)
    if split is not None:
        from sim.sweep.split import only_split

        if not (brief or markdown):
            raise ConfigError("--split goes with --markdown or --brief: the CSV has whole cells")
        cells = only_split(cells, split)
    if brief:
        sys.stdout.write(matrix(cells) + "\n")
    elif markdown:
        sys.stdout.write(as_markdown(cells, entries(reference or ["none,scr"])) + "\n")
    else:
        sys.stdout.write(as_csv([tidy(cell) for cell in cells]))


def _resolve(path: Path | None, name: str | None, flags: dict[str, Any], base: dict[str, Any]) -> Any:
    """Preset, then the YAML, then the flags; `base` is merged key by key.

    A flag's attack or defense that the preset or the YAML has by that name is the one that stands there.
    """
    from core.config import parse, read_yaml
    from core.errors import ConfigError
    from sim.sweep.config import SweepConfig
    from sim.sweep.presets import preset

    layers = [{} if name is None else preset(name), {} if path is None else read_yaml(path)]
    merged: dict[str, Any] = {}
    shared: dict[str, Any] = {}
    for layer in layers:
        inner = layer.get("base") or {}
        if not isinstance(inner, dict):
            raise ConfigError(f"{path}: base must be a mapping")
        shared |= inner
        merged |= layer
    for axis in ("attack", "defense"):
        known = {
            entry["name"]: entry
            for entry in merged.get(axis) or ()
            if isinstance(entry, dict) and "name" in entry
        }
        if flags.get(axis):
            flags = {**flags, axis: [known.get(name, name) for name in flags[axis]]}
    merged |= {key: value for key, value in flags.items() if value is not None}
    shared |= {key: value for key, value in base.items() if value is not None}
    return parse(SweepConfig, {**merged, "base": shared}, str(path) if path is not None else "command line")


def _pairs(given: list[str]) -> dict[str, Any]:
    """`KEY=VALUE` texts, values as YAML reads them."""
    import yaml

    from core.errors import ConfigError

    pairs: dict[str, Any] = {}
    for text in given:
        key, sign, value = text.partition("=")
        if not sign:
            raise ConfigError(f"--set {text!r} must be KEY=VALUE")
        pairs[key.strip().replace("-", "_")] = yaml.safe_load(value)
    return pairs
