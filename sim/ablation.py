"""What each piece of the networks is worth: variants trained and judged on the same rounds.

Figures are those of validation rounds, under all attacks and controls that training draws, averaged over
seeds of the initialisation; the spread over seeds says how much of a difference is noise.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from core.seeding import derive_seed
from gnn.model import NetworkConfig
from gnn.paper import PaperState, forward, smooth
from gnn.paper_model import PaperConfig
from gnn.paper_training import PaperEpisode, train_paper
from gnn.signals import Channels, sigmoid
from gnn.training import GraphSample, predict, train_network
from sim.metrics import auroc
from sim.training import Trainer
from sim.training_rounds import BENIGN, MALICIOUS, UNLABELLED

DEFAULT_VARIANTS: dict[str, dict[str, Any]] = {
    "default": {},
    "default, no graph attention": {"graph": False},
    "default, one layer": {"layers": 1},
    "default, one head": {"heads": 1},
}
PAPER_VARIANTS: dict[str, dict[str, Any]] = {
    "paper": {},
    "paper, no reliability gate": {"gate": False},
    "paper, no prototypes": {"prototypes": False},
    "paper, no graph attention": {"graph": False},
    "paper, no topology loss": {"topology": False},
}


@dataclass(frozen=True)
class AblationRow:
    """Means over seeds; `auroc_spread` is the standard deviation of the AUROC over them."""

    variant: str
    auroc: float
    auroc_spread: float
    tpr: float
    tnr: float
    seeds: int


def ablate(
    trainer: Trainer, seeds: int = 3, report: Callable[[str], None] = lambda line: None
) -> list[AblationRow]:
    """Train and judge every variant; the channels alone come first, as what a network adds to."""
    relations = trainer.relations()
    content, threshold = trainer.content()
    samples: dict[bool, list[GraphSample]] = {False: [], True: []}
    base: list[NDArray[np.float64]] = []
    channels = Channels(relations, content)
    for held, labelled, graphs in trainer.graphs(channels, threshold):
        samples[held] += [GraphSample(graph, labelled.labels) for graph in graphs]
        if held:
            base += [np.asarray(graph.base, np.float64) for graph in graphs]
    labels = [sample.labels for sample in samples[True]]
    rows = [_row("channels alone", [_figures(base, labels)])]
    config = trainer.config
    for name, changes in DEFAULT_VARIANTS.items():
        found = []
        for k in range(seeds):
            sizes = replace(NetworkConfig(hidden=config.hidden, heads=config.heads), **changes)
            model = train_network(
                samples[False], samples[True], sizes, epochs=config.epochs,
                seed=derive_seed(config.seed, "ablation", k),
            )  # fmt: skip
            found.append(_figures([predict(model, s.graph) for s in samples[True]], labels))
        rows.append(_row(name, found))
        report(_line(rows[-1]))
    train, validation = trainer.paper_episodes()
    for name, changes in PAPER_VARIANTS.items():
        found = [
            _judge_paper(
                train, validation, changes, config.paper_epochs, derive_seed(config.seed, "ablation", k)
            )
            for k in range(seeds)
        ]
        rows.append(_row(name, found))
        report(_line(rows[-1]))
    return rows


def as_json(rows: Sequence[AblationRow]) -> list[dict[str, Any]]:
    """Rows for a file."""
    return [asdict(row) for row in rows]


def lines(rows: Sequence[AblationRow]) -> list[str]:
    """The table as text, a row a variant."""
    return ["variant                       seeds   AUROC  spread     TPR     TNR", *map(_line, rows)]


def _line(row: AblationRow) -> str:
    figures = "  ".join(f"{value:6.3f}" for value in (row.auroc, row.auroc_spread, row.tpr, row.tnr))
    return f"{row.variant:29} {row.seeds:5}  {figures}"


def _row(name: str, found: Sequence[tuple[float, float, float]]) -> AblationRow:
    table = np.array(found)
    means = table.mean(axis=0)
    return AblationRow(
        name, float(means[0]), float(table[:, 0].std()), float(means[1]), float(means[2]), len(found)
    )


def _figures(
    logits: Sequence[NDArray[np.float64]], labels: Sequence[NDArray[np.int8]]
) -> tuple[float, float, float]:
    """AUROC, TPR and TNR at logit 0 of all rounds together."""
    scores, truth = sigmoid(np.concatenate(logits)), np.concatenate(labels)
    known = truth != UNLABELLED
    value = auroc(scores[known], truth[known] == BENIGN)
    kept = scores >= 0.5
    return (
        float("nan") if value is None else value,
        float(kept[truth == BENIGN].mean()),
        float((~kept[truth == MALICIOUS]).mean()),
    )


def _judge_paper(
    train: Sequence[PaperEpisode],
    validation: Sequence[PaperEpisode],
    changes: dict[str, Any],
    epochs: int,
    seed: int,
) -> tuple[float, float, float]:
    import torch

    topology = bool(changes.get("topology", True))
    switches = {key: value for key, value in changes.items() if key != "topology"}
    network = train_paper(
        train, replace(PaperConfig(), **switches), epochs=epochs, seed=seed, topology=topology
    )
    logits, labels = [], []
    with torch.inference_mode():
        for episode in validation:
            state = PaperState({}, {})
            for graph, given in episode:
                found = forward(network, graph, state).double().numpy()
                state = smooth(graph, sigmoid(found), state)
                logits.append(found)
                labels.append(given)
    return _figures(logits, labels)
