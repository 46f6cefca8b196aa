"""Train the credibility model, judge it under its controls, and fit its threshold to a domain."""

from __future__ import annotations

import json
import sys
import time
from pathlib import Path
from typing import Annotated, Any

import typer

from core.cli_config import ConfigFile
from core.errors import DataError

# of the synthetic world that a checkpoint is judged on: of more, fewer come back on the same facts, and a
# single round says less about who lies (docs/credibility.md has 1,000 beside it)
WORLD_DOCUMENTS = 300
_HELP = {"help_option_names": ["-h", "--help"]}
train = typer.Typer(
    add_completion=False, pretty_exceptions_enable=False, context_settings=_HELP, help=__doc__
)
evaluate = typer.Typer(add_completion=False, pretty_exceptions_enable=False, context_settings=_HELP)
calibrate = typer.Typer(add_completion=False, pretty_exceptions_enable=False, context_settings=_HELP)

Dataset = Annotated[
    list[str], typer.Option("--dataset", help="Data folder, or `synthetic`; repeat for several.")
]


def _report(start: float, quiet: bool) -> Any:
    def report(line: str) -> None:
        if not quiet:
            sys.stderr.write(f"[{time.monotonic() - start:6.0f} s] {line}\n")

    return report


@train.command(
    epilog="Examples: scr train --dataset data/nq --dataset data/hotpotqa --out out/train · "
    "scr train --dataset synthetic --out out/synthetic"
)
def train_command(
    out: Annotated[Path, typer.Option(help="Folder for the checkpoint, its card and steps.")],
    dataset: Dataset = ["synthetic"],  # noqa: B006
    config: Annotated[Path | None, typer.Option(help="YAML with training settings.")] = None,
    seed: Annotated[int | None, typer.Option(help="Everything drawn descends from it.")] = None,
    documents: Annotated[
        int | None, typer.Option(help="Documents used of each data set (those that answer questions first).")
    ] = None,
    episodes: Annotated[int | None, typer.Option(help="Training episodes per data set.")] = None,
    epochs: Annotated[int | None, typer.Option(help="Most epochs of the network.")] = None,
    baselines: Annotated[bool, typer.Option(help="Train the paper's network and row models too.")] = True,
    ablate: Annotated[
        int, typer.Option(metavar="SEEDS", help="Also judge the networks without each of their parts.")
    ] = 0,
    embedder: Annotated[str, typer.Option(help="Embedder of documents and sentences.")] = "minilm",
    cache_dir: Annotated[Path | None, typer.Option(help="Where vectors are cached.")] = None,
    quiet: Annotated[bool, typer.Option("--quiet", help="No progress.")] = False,
) -> None:
    """Train on one or several data folders; interrupted, the same command goes on where it stopped."""
    from core.config import load
    from core.embedding import open_embedder
    from core.paths import write_atomic
    from sim.ablation import ablate as ablation
    from sim.ablation import as_json, lines
    from sim.training import Trainer, TrainingConfig
    from sim.training_corpus import training_corpus

    start = time.monotonic()
    report = _report(start, quiet)
    settings = load(
        TrainingConfig,
        config,
        {
            "seed": seed,
            "documents": documents,
            "episodes": episodes,
            "epochs": epochs,
            "baselines": baselines,
        },
    )
    opened = open_embedder(embedder, cache_dir)
    corpora = [training_corpus(name, settings.documents, settings.seed, settings.words) for name in dataset]
    out.mkdir(parents=True, exist_ok=True)
    trainer = Trainer(corpora, opened, settings, out, report)
    trained = trainer.run()
    trained.checkpoint.save(out / "checkpoint.npz")
    card = {**trained.checkpoint.meta, "seconds": round(time.monotonic() - start, 1)}
    (out / "model_card.json").write_text(json.dumps(card, indent=2, sort_keys=True) + "\n", encoding="utf-8")
    typer.echo(f"checkpoint {out / 'checkpoint.npz'}")
    for name, value in trained.figures.items():
        typer.echo(f"  {name} {value:.4f}")
    if ablate:
        rows = ablation(trainer, ablate, report)
        write_atomic(out / "ablation.json", json.dumps(as_json(rows), indent=1) + "\n")
        typer.echo("\n".join(lines(rows)))


@evaluate.command(
    epilog="Examples: scr eval --checkpoint out/train/checkpoint.npz --dataset data/nq --out out/eval · "
    "scr eval --dataset data/nq --controls --out out/eval"
)
def eval_command(
    out: Annotated[Path, typer.Option(help="Folder for eval.json.")],
    dataset: Dataset = ["synthetic"],  # noqa: B006
    checkpoint: Annotated[Path | None, typer.Option(help="Checkpoint; default: the shipped one.")] = None,
    queries_file: Annotated[Path | None, typer.Option(help="Questions instead of the folder's.")] = None,
    qrels: Annotated[Path | None, typer.Option(help="Relevance instead of the folder's.")] = None,
    poison: Annotated[Path | None, typer.Option(help="Poisons instead of the folder's.")] = None,
    controls: Annotated[bool, typer.Option("--controls", help="The whole matrix.")] = False,
    model: Annotated[list[str] | None, typer.Option(help="Models to judge.")] = None,
    attack: Annotated[list[str] | None, typer.Option(help="Only these attacks.")] = None,
    control: Annotated[list[str] | None, typer.Option(help="Only these controls.")] = None,
    replication: Annotated[list[int] | None, typer.Option(help="Holders per document.")] = None,
    rounds: Annotated[int, typer.Option(help="Counted rounds per cell.")] = 100,
    all_questions: Annotated[
        bool, typer.Option("--all-questions", help="Every question, not only the test split.")
    ] = False,
    single: Annotated[bool, typer.Option(help="Also score each round with fresh beliefs.")] = True,
    documents: Annotated[int, typer.Option(help="Size of the synthetic world.", min=1)] = WORLD_DOCUMENTS,
    card: Annotated[Path | None, typer.Option(help="Model card (JSON) that takes the rows too.")] = None,
    seed: Annotated[int, typer.Option(help="Partition, placement and draws.")] = 0,
    embedder: Annotated[str, typer.Option(help="Embedder of documents and sentences.")] = "minilm",
    cache_dir: Annotated[Path | None, typer.Option(help="Where vectors are cached.")] = None,
    quiet: Annotated[bool, typer.Option("--quiet", help="No progress.")] = False,
    config: ConfigFile = None,
) -> None:
    """Judge a checkpoint: rows of TPR, TNR, AUROC and calibration error by attack, control and model."""
    from core.embedding import open_embedder
    from core.paths import write_atomic
    from gnn.checkpoint import load_checkpoint
    from gnn.models import MODELS
    from gnn.scorer import SCHEMAS
    from sim.corpora import load_corpus, select_questions
    from sim.evaluation import cells, evaluate_cell
    from sim.rounds import prepare
    from sim.training_rounds import questions_of

    report = _report(time.monotonic(), quiet)
    loaded = load_checkpoint(checkpoint, SCHEMAS)
    opened = open_embedder(embedder, cache_dir)
    models = model or (list(MODELS) if controls else ["default"])
    rows: list[dict[str, Any]] = []
    if card is not None:
        _with_matrix(card, rows, seed)  # a wrong file is told before the work
    for name in dataset:
        size = documents if name == "synthetic" else None
        corpus = load_corpus(name, queries_file, qrels, poison, n_documents=size, seed=seed)
        prepared = prepare(corpus, opened)
        questions = select_questions(corpus) if all_questions else questions_of(prepared, "test")
        chosen = [
            cell
            for cell in cells(controls or bool(control), replication or (1, 3))
            if (not attack or cell.attack in attack) and (not control or cell.control in control)
        ]
        for cell in chosen:
            steady = cell.behavior == "steady"
            modes = [False, True] if single and steady and cell.attack == "ata" else [False]
            for fresh in modes:
                rows += evaluate_cell(
                    loaded, models, prepared, questions, cell, opened,
                    n_rounds=rounds, seed=seed, single=fresh,
                )  # fmt: skip
                last = rows[-1]
                report(
                    f"{corpus.name} {cell.attack} {cell.control} R={cell.replication} {last['beliefs']}: "
                    f"TPR {_show(last['tpr'])} TNR {_show(last['tnr'])} AUROC {_show(last['auroc'])}"
                )
            write_atomic(out / "eval.json", json.dumps({"schema": 1, "rows": rows}, indent=1) + "\n")
    if card is not None:
        write_atomic(card, json.dumps(_with_matrix(card, rows, seed), indent=1, sort_keys=True) + "\n")
    _table(rows)


_CELL = ("dataset", "attack", "control", "replication", "model", "beliefs")


def _with_matrix(card: Path, rows: list[dict[str, Any]], seed: int) -> dict[str, Any]:
    """The model card of `card` with `rows` in its matrix, in place of older rows of the same cells.

    Raises:
        DataError: the file is no model card.
    """
    try:
        known = json.loads(card.read_text(encoding="utf-8"))
        before = known.get("matrix", [])
        kept = {tuple(row[name] for name in _CELL): row for row in before}
    except (OSError, ValueError, AttributeError, KeyError, TypeError) as error:
        raise DataError(f"{card}: no model card ({error})") from error
    for row in rows:
        kept[tuple(row[name] for name in _CELL)] = {**row, "seed": seed}
    return {**known, "matrix": [kept[cell] for cell in sorted(kept, key=str)]}


def _show(value: float | None, interval: list[float] | None = None) -> str:
    if value is None:
        return "-"
    return f"{value:.3f}" + ("" if interval is None else f" ({interval[0]:.3f}-{interval[1]:.3f})")


def _table(rows: list[dict[str, Any]]) -> None:
    figures = ("tpr", "tnr", "auroc", "ece")
    typer.echo(
        "dataset      attack       control         R beliefs  model            n "
        + " ".join(f"{name.upper():19}" for name in figures)
    )
    for row in rows:
        cell = f"{row['dataset'][:12]:12} {row['attack']:12} {row['control']:15} {row['replication']}"
        values = " ".join(f"{_show(row[name], row.get(f'{name}_ci95')):19}" for name in figures)
        found = f" found in round {row['rounds_to_find'] or '-'}" if "rounds_to_find" in row else ""
        typer.echo(
            f"{cell} {row['beliefs']:8} {row['model']:15} {row['n_rounds']:4} {values}{found}".rstrip()
        )


@calibrate.command(epilog="Example: scr calibrate --dataset data/ours --out ours.npz --clean-cost 0.01")
def calibrate_command(
    dataset: Annotated[str, typer.Option(help="Data folder of the deployment's own domain.")],
    out: Annotated[Path, typer.Option(help="Where the calibrated checkpoint goes.")],
    checkpoint: Annotated[Path | None, typer.Option(help="Checkpoint; default: the shipped one.")] = None,
    clean_cost: Annotated[float, typer.Option(help="Share of clean documents that may be rejected.")] = 0.01,
    rounds: Annotated[int, typer.Option(help="Clean rounds to choose by.")] = 50,
    sources: Annotated[int, typer.Option(help="Sources of the simulated federation.")] = 10,
    replication: Annotated[int, typer.Option(help="Holders per document.")] = 1,
    seed: Annotated[int, typer.Option(help="Partition and questions.")] = 0,
    embedder: Annotated[str, typer.Option(help="Embedder of documents and sentences.")] = "minilm",
    cache_dir: Annotated[Path | None, typer.Option(help="Where vectors are cached.")] = None,
    config: ConfigFile = None,
) -> None:
    """Choose the content threshold on a domain's own clean rounds; needs no attack examples."""
    from dataclasses import replace

    import numpy as np

    from core.embedding import open_embedder
    from core.errors import ConfigError
    from gnn.calibration import clean_threshold
    from gnn.checkpoint import load_checkpoint
    from gnn.scorer import SCHEMAS, CredibilityScorer
    from sim.corpora import load_corpus, select_questions
    from sim.rounds import prepare
    from sim.training_rounds import Episode, episode_rounds

    if not 0.0 < clean_cost < 0.5:
        raise ConfigError(f"--clean-cost must lie between 0 and 0.5, not {clean_cost}")
    loaded = load_checkpoint(checkpoint, SCHEMAS)
    scorer = CredibilityScorer(loaded, network=False)
    opened = open_embedder(embedder, cache_dir)
    prepared = prepare(load_corpus(dataset, seed=seed), opened)
    episode = Episode(0, n_sources=sources, malicious=0.0, replication=replication, seed=seed)
    questions = select_questions(prepared.corpus)
    logits = np.concatenate(
        [
            scorer.content_logits(labelled.prepared)
            for labelled in episode_rounds(episode, prepared, questions, opened, rounds)
        ]
    )
    threshold = clean_threshold(logits, clean_cost)
    meta = {
        **loaded.meta,
        "threshold": threshold,
        "calibrated": {"data": prepared.corpus.name, "clean_cost": clean_cost, "documents": len(logits)},
    }
    replace(loaded, meta=meta).save(out)
    typer.echo(
        f"threshold {threshold:.4f} rejects {clean_cost:.1%} of {len(logits)} clean documents "
        f"of {prepared.corpus.name}; the checkpoint's was {loaded.meta['threshold']:.4f}"
    )
    typer.echo(f"checkpoint {out}")
