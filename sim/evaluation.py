"""`scr eval`: every model under every attack and control, with intervals, in one matrix."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from core.embedding.base import Embedder
from core.seeding import derive_seed, generator
from gnn.calibration import clean_threshold, expected_calibration_error
from gnn.checkpoint import Checkpoint
from gnn.models import open_model
from gnn.scorer import CredibilityScorer
from sim.attacks.base import AttackOptions
from sim.bootstrap import auroc_interval, ratio, ratio_interval
from sim.corpora.records import Question
from sim.metrics import auroc
from sim.rounds import PreparedCorpus
from sim.training_rounds import (
    BENIGN,
    MALICIOUS,
    UNLABELLED,
    Episode,
    LabelledRound,
    episode_rounds,
)

SETTLED = 10  # rounds after which "from round 11 on" counts
SLEEP = 25  # honest rounds of a sleeper
AWAKE = 15  # its attacked rounds that are looked at
SINGLE = 10  # rounds of one federation where every round starts from fresh beliefs
FOUND = 0.9  # share of attack documents dropped that counts as found


@dataclass(frozen=True)
class Cell:
    """One attack under one control at one replication."""

    attack: str
    control: str
    replication: int
    options: AttackOptions = field(default_factory=AttackOptions)
    warmup: int = 0
    behavior: str = "steady"


def cells(controls: bool, replications: Sequence[int] = (1, 3)) -> list[Cell]:
    """The matrix: plain attacks only, or all controls."""
    found = [Cell("none", "clean", r) for r in replications]
    for r in replications:
        found.append(Cell("saa", "plain", r))
        found.append(Cell("poisonedrag", "plain", r))
        found.append(Cell("ata", "plain", r))
        if controls:
            matched = AttackOptions(length="matched", prefix=False)
            found += [
                Cell("saa", "length-matched", r, AttackOptions(length="matched")),
                Cell("poisonedrag", "no-prefix", r, AttackOptions(prefix=False)),
                Cell("poisonedrag", "length-matched", r, matched),
                Cell("poisonedrag", "camouflage", r, AttackOptions(per_source=1), warmup=25),
                Cell("ata", "swap", r, AttackOptions(swap=True)),
            ]
            if r > 1:
                found += [
                    Cell("ata", "reworded", r, AttackOptions(reword=True)),
                    Cell("ata", "reworded-swap", r, AttackOptions(reword=True, swap=True)),
                    Cell("ata", "independent", r, AttackOptions(collude=False)),
                    Cell("ata", "one-in-five", r, AttackOptions(edit_rate=0.2)),
                    Cell("ata", "sleeper", r, behavior=f"sleeper:{SLEEP}"),
                ]
    return found


@dataclass
class _Tally:
    """Per-document outcomes of one model in one cell; `round_` of the episode, `unit` to resample by."""

    credibility: list[NDArray[np.float64]] = field(default_factory=list)
    labels: list[NDArray[np.int8]] = field(default_factory=list)
    round_: list[int] = field(default_factory=list)
    unit: list[tuple[int, int]] = field(default_factory=list)
    reliability: list[tuple[float, float]] = field(default_factory=list)
    attacked: list[bool] = field(default_factory=list)


def evaluate_cell(
    checkpoint: Checkpoint,
    models: Sequence[str],
    prepared: PreparedCorpus,
    questions: Sequence[Question],
    cell: Cell,
    embedder: Embedder,
    *,
    n_rounds: int,
    episode_rounds_: int = 50,
    seed: int = 0,
    single: bool = False,
    n_sources: int = 10,
    malicious: float = 0.4,
) -> list[dict[str, Any]]:
    """Rows of one cell: one per model; with `single` every round starts from fresh beliefs.

    Episodes of single rounds are short, so that a cell draws many federations, and intervals resample these:
    what a single round can tell depends on who holds what. Where beliefs are carried, episodes are few and
    intervals resample rounds. Of a single one there is no interval.

    A cell whose sources do not attack from the start has episodes of `SLEEP + AWAKE` rounds, at least
    five, and its rows say after how many attacked rounds the liars were found (`rounds_to_find`).
    """
    sleeping = cell.behavior != "steady"
    if sleeping:
        episode_rounds_ = SLEEP + AWAKE
        n_rounds = max(n_rounds, 5 * episode_rounds_)
    elif single:
        episode_rounds_ = min(episode_rounds_, SINGLE)
    tallies = {name: _Tally() for name in models}
    usual = {name: open_model(name, checkpoint) for name in models}
    episodes = max(1, -(-n_rounds // episode_rounds_))
    for k in range(episodes):
        episode = Episode(
            0, cell.attack, cell.options, n_sources, malicious, cell.replication,
            behavior=cell.behavior, warmup=cell.warmup,
            seed=derive_seed(seed, "evaluation", prepared.corpus.name, k),
        )  # fmt: skip
        states: dict[str, Any] = dict.fromkeys(models)
        opened = usual
        warm: list[LabelledRound] = []
        for i, labelled in enumerate(
            episode_rounds(
                episode, prepared, questions, embedder, min(episode_rounds_, n_rounds - k * episode_rounds_)
            )
        ):
            if i < cell.warmup:
                warm.append(labelled)
                if i == cell.warmup - 1:
                    opened, states = _settle(checkpoint, models, warm)
                continue
            for name in models:
                scored = opened[name].score(labelled.prepared, None if single else states[name])
                states[name] = scored.state
                tally = tallies[name]
                tally.credibility.append(scored.credibility)
                tally.labels.append(labelled.labels)
                tally.round_.append(i - cell.warmup)
                tally.unit.append((k, 0) if single else (k, i))
                tally.attacked.append(labelled.attacked)
                liars = labelled.simulated.malicious
                honest = [v for s, v in scored.reliability.items() if s not in liars]
                lying = [v for s, v in scored.reliability.items() if s in liars]
                tally.reliability.append(
                    (float(np.mean(honest)), float(np.mean(lying)) if lying else float("nan"))
                )
    rows = []
    for name in models:
        base = {
            "dataset": prepared.corpus.name, "attack": cell.attack, "control": cell.control,
            "replication": cell.replication, "model": name, "beliefs": "single" if single else "carried",
        }  # fmt: skip
        rows.append({**base, **_figures(tallies[name], seed)})
        if sleeping:
            rows[-1]["rounds_to_find"] = rounds_to_find(tallies[name])
            continue
        if not single and len(tallies[name].labels) > SETTLED:
            rows.append({**base, "beliefs": "settled", **_figures(tallies[name], seed, first=SETTLED)})
    return rows


def _settle(
    checkpoint: Checkpoint, models: Sequence[str], warm: Sequence[LabelledRound]
) -> tuple[dict[str, Any], dict[str, Any]]:
    """Models with a threshold chosen on the clean warm-up rounds, and the states that these left."""
    scorer = CredibilityScorer(checkpoint, network=False)
    logits = np.concatenate([scorer.content_logits(w.prepared) for w in warm])
    threshold = clean_threshold(logits, 0.01)
    opened = {name: open_model(name, checkpoint, threshold) for name in models}
    states: dict[str, Any] = dict.fromkeys(models)
    for name in models:
        for labelled in warm:
            states[name] = opened[name].score(labelled.prepared, states[name]).state
    return opened, states


def rounds_to_find(tally: _Tally) -> int | None:
    """Attacked rounds until at least `FOUND` of their attack documents were dropped, over all episodes.

    1 where the first one is enough, None where none of them is.
    """
    right: dict[int, int] = {}
    total: dict[int, int] = {}
    awake = 0
    for i, r in enumerate(tally.round_):
        awake = 0 if r == 0 else awake
        if not tally.attacked[i]:
            continue
        awake += 1
        malicious = tally.labels[i] == MALICIOUS
        total[awake] = total.get(awake, 0) + int(malicious.sum())
        right[awake] = right.get(awake, 0) + int((malicious & (tally.credibility[i] < 0.5)).sum())
    found = [k for k in sorted(total) if total[k] and right[k] >= FOUND * total[k]]
    return found[0] if found else None


def _figures(tally: _Tally, seed: int, first: int = 0) -> dict[str, Any]:
    chosen = [i for i, r in enumerate(tally.round_) if r >= first]
    credibility = np.concatenate([tally.credibility[i] for i in chosen])
    labels = np.concatenate([tally.labels[i] for i in chosen])
    known = labels != UNLABELLED
    benign, malicious = labels == BENIGN, labels == MALICIOUS
    rng = generator(seed, "intervals")

    place = {unit: k for k, unit in enumerate(dict.fromkeys(tally.unit[i] for i in chosen))}

    def share(code: int, kept: bool) -> tuple[float | None, list[float] | None]:
        right = [
            int((((tally.credibility[i] >= 0.5) == kept) & (tally.labels[i] == code)).sum()) for i in chosen
        ]
        total = [int((tally.labels[i] == code).sum()) for i in chosen]
        interval = ratio_interval(right, total, [tally.unit[i] for i in chosen], rng)
        return ratio(right, total), None if interval is None or len(place) < 2 else list(interval)

    units = np.repeat([place[tally.unit[i]] for i in chosen], [len(tally.labels[i]) for i in chosen])
    tpr, tpr_ci = share(BENIGN, True)
    tnr, tnr_ci = share(MALICIOUS, False)
    area_ci = auroc_interval(credibility[known], benign[known], units[known], rng)
    last = [i for i in chosen if tally.round_[i] == max(tally.round_)]
    return {
        "n_rounds": len(chosen),
        "tpr": tpr,
        "tpr_ci95": tpr_ci,
        "tnr": tnr,
        "tnr_ci95": tnr_ci,
        "auroc": auroc(credibility[known], benign[known]) if malicious.any() and benign.any() else None,
        "auroc_ci95": None if area_ci is None or len(place) < 2 else list(area_ci),
        "ece": expected_calibration_error(credibility[known], benign[known]),
        "reliability_benign": float(np.mean([tally.reliability[i][0] for i in last])),
        "reliability_malicious": (
            float(np.mean([tally.reliability[i][1] for i in last])) if malicious.any() else None
        ),
    }
