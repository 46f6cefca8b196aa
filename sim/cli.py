"""Experiments: sources, attacks and defenses under one seed, measured and compared."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated, Any

import typer

from sim import export_cli as exporting
from sim import fit_cli as fitting
from sim.reproduce import cli as reproduction
from sim.sweep import cli as sweeping

_PATIENCE_S = 20.0  # from Ctrl-C to the end of a run, whatever its clean-up waits for

app = typer.Typer(
    help="Experiments: sources, attacks and defenses under one seed, measured and compared.",
    no_args_is_help=True,
    add_completion=False,
    rich_markup_mode=None,
    context_settings={"help_option_names": ["-h", "--help"]},
)

_EXAMPLES = """
\b
Examples:
  scr sim run --attack poisonedrag --defense scr --queries 30 --compare
  scr sim run --dataset data/nq --attack saa --defense none --reader choice --out out/nq
  scr sim run --config out/nq/config.yaml --seed 1 --out out/nq-1
  scr sim run --attack poisonedrag --attack-option prefix=false --attack-option per_source=1
"""


@app.callback()
def _group() -> None:
    """Experiments: sources, attacks and defenses under one seed, measured and compared."""


app.command(epilog=reproduction.EXAMPLES)(reproduction.reproduce)
app.command(epilog=exporting.EXAMPLES)(exporting.export)
app.command(epilog=fitting.EXAMPLES)(fitting.fit)
app.add_typer(sweeping.app, name="sweep")


@app.command(epilog=_EXAMPLES)
def run(
    config: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="YAML with these settings as keys; flags override."),
    ] = None,
    dataset: Annotated[
        str | None, typer.Option(metavar="PATH", help="BEIR-style folder, or 'synthetic' (default).")
    ] = None,
    documents: Annotated[
        int | None, typer.Option(metavar="N", help="Documents of the synthetic world.")
    ] = None,
    queries_file: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Questions instead of the folder's.")
    ] = None,
    qrels: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="Relevance judgements instead of the folder's."),
    ] = None,
    poison: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="Poison records instead of the folder's."),
    ] = None,
    queries: Annotated[
        int | None, typer.Option(metavar="Q", help="Questions to ask, poisoned ones first [50].")
    ] = None,
    attack: Annotated[
        str | None, typer.Option(metavar="NAME", help="none [default], saa, poisonedrag, ata, or a plug-in.")
    ] = None,
    attack_option: Annotated[
        list[str] | None,
        typer.Option(
            metavar="KEY=VALUE",
            help="collude, prefix, length, per_source, reword, swap, edit_rate, edits, iterations, samples, "
            "writer; may be repeated.",
        ),
    ] = None,
    behavior: Annotated[
        str | None,
        typer.Option(metavar="NAME", help="When malicious sources attack: steady, sleeper:25."),
    ] = None,
    defense: Annotated[
        list[str] | None,
        typer.Option(
            metavar="NAME",
            help="Stage of the pipeline [scr]; repeat for several, in order. 'none': MS-RAG undefended; "
            "'ss-rag': one malicious source alone.",
        ),
    ] = None,
    sources: Annotated[int | None, typer.Option(metavar="N", help="Sources [10].")] = None,
    malicious: Annotated[
        float | None, typer.Option(metavar="FRACTION", help="Share of malicious sources [0.4].")
    ] = None,
    dirichlet_alpha: Annotated[
        float | None, typer.Option(metavar="A", help="Evenness of the shards; small is uneven [0.5].")
    ] = None,
    replication: Annotated[
        int | None, typer.Option(metavar="R", help="Sources that hold each document [1].")
    ] = None,
    top_k: Annotated[
        int | None, typer.Option(metavar="K", help="Documents asked of each source [5].")
    ] = None,
    trials: Annotated[
        int | None,
        typer.Option(metavar="T", help="Repetitions with other partition, placement, draws [1]."),
    ] = None,
    rounds_warmup: Annotated[
        int | None, typer.Option(metavar="W", help="Clean rounds that come first and are not counted [0].")
    ] = None,
    reader: Annotated[
        str | None,
        typer.Option(
            metavar="NAME", help="extractive [default], choice, smollm2, openai:MODEL or a plug-in."
        ),
    ] = None,
    reader_k: Annotated[
        int | None, typer.Option(metavar="K", help="Kept documents handed to the reader [5].")
    ] = None,
    checkpoint: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="Weights of scr instead of the shipped ones."),
    ] = None,
    llm: Annotated[
        str | None,
        typer.Option(metavar="SPEC", help="LLM of stages that need one: smollm2, openai:MODEL."),
    ] = None,
    embedder: Annotated[
        str | None, typer.Option(metavar="NAME", help="minilm [default], hashing or a plug-in.")
    ] = None,
    retriever: Annotated[
        str | None,
        typer.Option(metavar="NAME", help="How sources search: dense [default], bm25, hybrid."),
    ] = None,
    deadline: Annotated[
        float | None, typer.Option(metavar="SECONDS", help="Time that sources have for an answer [30].")
    ] = None,
    ray_address: Annotated[
        str | None, typer.Option(metavar="ADDR", help="Ray cluster to join; without, one is started here.")
    ] = None,
    object_store_mb: Annotated[
        int | None, typer.Option(metavar="MB", help="Shared memory of a Ray started here [200].")
    ] = None,
    seed: Annotated[int | None, typer.Option(metavar="S", help="What every draw descends from [0].")] = None,
    out: Annotated[
        Path | None, typer.Option(metavar="DIR", help="Folder for results; a run cut off goes on there.")
    ] = None,
    compare: Annotated[
        bool | None,
        typer.Option(
            "--compare/--no-compare",
            help="Run the baselines beside the defense [where the reader needs no language model].",
        ),
    ] = None,
    cache_dir: Annotated[
        Path | None, typer.Option(metavar="DIR", help="Cache of embeddings and converted models [SCR_CACHE].")
    ] = None,
    fresh: Annotated[
        bool, typer.Option("--fresh", help="Start anew where --out holds an earlier run.")
    ] = False,
    quiet: Annotated[bool, typer.Option("--quiet", "-q", help="No progress, only warnings.")] = False,
) -> None:
    """Run one experiment and print the comparison; --out leaves metrics.json, rounds.jsonl and config.yaml.

    The same command with the same --out goes on where it was interrupted.
    """
    flags = {
        name: value
        for name, value in locals().items()
        if name not in ("config", "fresh", "quiet") and value is not None and value != []
    }
    _run(config, flags, fresh, quiet)


def _run(path: Path | None, flags: dict[str, Any], fresh: bool, quiet: bool) -> None:
    from rich.console import Console

    from core.errors import ScrError
    from core.interrupt import surely_interruptible
    from sim.attacks.base import parse_options
    from sim.config import resolve
    from sim.experiment import run_experiment
    from sim.progress import open_progress
    from sim.summary import summary_lines

    if "attack_option" in flags:
        flags["attack_option"] = parse_options(flags["attack_option"]).model_dump(exclude_unset=True)
    settings = resolve(None, path, flags)
    progress = open_progress(quiet)
    hint = f"the rounds so far are in {settings.out}; the same command goes on from there"
    try:
        with surely_interruptible(
            _PATIENCE_S, f"{hint}\nscr: interrupted" if settings.out else "scr: interrupted"
        ):
            result = run_experiment(settings, progress=progress, fresh=fresh)
    except (KeyboardInterrupt, ScrError):
        if settings.out is not None and (settings.out / "rounds.jsonl").exists():
            progress.say(hint)
        raise
    console = Console(width=None if sys.stdout.isatty() else 140)
    result.comparison.print(console)
    for line in summary_lines(result.metrics):
        console.print(line, highlight=False)
    if settings.out is not None:
        console.print(f"results in {settings.out}", highlight=False, soft_wrap=True)
