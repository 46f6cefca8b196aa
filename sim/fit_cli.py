"""`scr sim fit`: defenses that learn from examples."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated, Any

import typer

EXAMPLES = """
\b
Examples:
  scr sim fit ml_filterrag --dataset data/nq --out forest.json
  scr sim fit ml_filterrag --dataset data/nq --dataset data/hotpotqa --queries 10 --skip 0 --out both.json
"""


def fit(
    defense: Annotated[str, typer.Argument(metavar="DEFENSE", help="Which to train: ml_filterrag.")],
    out: Annotated[Path, typer.Option(metavar="FILE", help="File to write.")],
    dataset: Annotated[
        list[str] | None,
        typer.Option(metavar="PATH", help="BEIR-style folder with poisons; may be repeated."),
    ] = None,
    queries: Annotated[
        int | None, typer.Option(metavar="Q", help="Questions of each folder to train on, at most [20].")
    ] = None,
    held_out: Annotated[
        int | None,
        typer.Option(metavar="Q", help="Questions of each folder that tell the accuracy [as many]."),
    ] = None,
    skip: Annotated[
        int | None, typer.Option(metavar="N", help="Leave the first N questions to experiments [20].")
    ] = None,
    llm: Annotated[str | None, typer.Option(help="The small model that answers [smollm2].")] = None,
    seed: Annotated[int | None, typer.Option(min=0, help="What every draw descends from.")] = None,
    cache_dir: Annotated[Path | None, typer.Option(metavar="DIR", help="Cache folder [SCR_CACHE].")] = None,
    config: Annotated[Path | None, typer.Option(help="YAML with these keys; flags override it.")] = None,
    quiet: Annotated[bool, typer.Option("--quiet", "-q", help="No progress on stderr.")] = False,
) -> None:
    """Train a defense on development questions (never on test questions) and write what it learned."""
    from core.config import load
    from core.errors import ConfigError
    from core.paths import write_atomic
    from sim.fit_filterrag import FitOptions, fit_filterrag
    from sim.progress import open_progress

    if defense != "ml_filterrag":
        raise ConfigError(f"{defense!r} is not trained here; known: ml_filterrag")
    flags: dict[str, Any] = {"dataset": dataset or None, "queries": queries, "skip": skip, "llm": llm}
    flags["held_out"] = held_out
    options = load(FitOptions, config, {**flags, "seed": seed, "cache_dir": cache_dir})
    forest = fit_filterrag(options, open_progress(quiet))
    write_atomic(out, forest.dumps())
    about = forest.about
    shares = [
        f"{split} {about[f'{split}_accuracy']:.3f}"
        for split in ("train", "validation")
        if about[f"{split}_accuracy"] is not None
    ]
    sys.stdout.write(f"{about['rows']} documents, accuracy {', '.join(shares)}: {out}\n")
