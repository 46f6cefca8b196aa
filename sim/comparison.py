"""The comparison table: one row an arm, every figure with its 95 % interval."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from sim.arms import Arm
from sim.metrics import estimate, kept_benign, rate, rejected_malicious
from sim.round_record import RoundRecord

if TYPE_CHECKING:
    from rich.console import Console

_COLUMNS = {
    "asr": "ASR",
    "accuracy": "accuracy",
    "target_rate": "target rate",
    "tpr": "TPR",
    "tnr": "TNR",
}


@dataclass(frozen=True)
class Row:
    """One arm's figures; each has `value`, `ci95` and `n`, the first two None where it does not apply."""

    arm: str
    title: str
    figures: Mapping[str, Mapping[str, Any]]


@dataclass(frozen=True)
class Comparison:
    """Rows in the order of the table, and the labels that results of this run carry."""

    rows: tuple[Row, ...]
    reader: str
    labels: tuple[str, ...]
    n_rounds: int

    def as_json(self) -> dict[str, Any]:
        """The table as plain values."""
        return {
            "schema": 1,
            "reader": self.reader,
            "labels": list(self.labels),
            "n_rounds": self.n_rounds,
            "rows": [{"arm": row.arm, "title": row.title, **row.figures} for row in self.rows],
        }

    def print(self, console: Console) -> None:
        """Print the table with its labels."""
        from rich.table import Table

        table = Table(
            title=f"{self.n_rounds} rounds, reader {self.reader} ({', '.join(self.labels)})",
            caption="95 % bootstrap intervals over questions; - : does not apply",
            title_justify="left",
            caption_justify="left",
        )
        table.add_column("")
        for heading in _COLUMNS.values():
            table.add_column(heading, justify="right")
        for row in self.rows:
            table.add_row(row.title, *(_cell(row.figures[name]) for name in _COLUMNS))
        console.print(table)


def compare(
    arms: Sequence[tuple[Arm, Sequence[RoundRecord]]],
    *,
    seed: int,
    reader: str,
    simulated: bool,
    forced_choice: bool,
    dataset: str,
    synthetic: bool,
) -> Comparison:
    """The table of `arms`; the flags become the labels that readers of it must see."""
    labels = [
        *(["simulated reader"] if simulated else []),
        *(["forced choice"] if forced_choice else []),
        *(["synthetic"] if synthetic else [f"data {dataset}"]),
    ]
    counts = {
        "asr": lambda r: rate(r.attack_success),
        "accuracy": lambda r: rate(r.correct),
        "target_rate": lambda r: rate(r.target_given),
        "tpr": kept_benign,
        "tnr": rejected_malicious,
    }
    rows = tuple(
        Row(
            arm.name, arm.title, {name: estimate(rounds, count, seed, name) for name, count in counts.items()}
        )
        for arm, rounds in arms
    )
    return Comparison(rows, reader, tuple(labels), len(arms[-1][1]))


def _cell(figure: Mapping[str, Any]) -> str:
    """A figure as percent with its interval, short enough for a terminal of 80 columns."""
    if figure["value"] is None:
        return "-"
    low, high = figure["ci95"]
    return f"{100 * figure['value']:.1f} ({100 * low:.0f}-{100 * high:.0f})"
