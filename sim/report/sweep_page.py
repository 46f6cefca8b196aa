"""The report of a sweep: its table of cells, any measure over any setting."""

from __future__ import annotations

import csv
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from core.errors import DataError
from sim.report.page import assemble, choice, plot, table

TABLE = "table.csv"
_MEASURES = (
    "asr", "accuracy", "target_rate", "tpr", "tnr", "fpr", "fnr", "auroc", "ece", "recall_at_k", "mrr",
    "poisoned_mrr", "sr", "retrieval_asr", "reliability_benign", "reliability_malicious", "cpu_ms_p50",
    "cpu_ms_p95", "llm_calls", "refused", "stage_errors", "llm_failures", "source_failures",
)  # fmt: skip
_COUNTS = ("n_queries", "n_rounds", "n_benign", "n_malicious", "n_neutral")
_SHOWN = ("asr", "accuracy", "target_rate", "tpr", "tnr")
_MOST_ROWS = 500

Row = dict[str, Any]


def sweep_report(root: Path) -> str:
    """The page of the sweep in `root`.

    Raises:
        DataError: its table holds no cell, or no measure that this version knows.
    """
    rows = read_table(root / TABLE)
    measures = [name for name in _MEASURES if any(isinstance(row.get(name), int | float) for row in rows)]
    if not measures:
        raise DataError(f"{root / TABLE}: has none of the columns {', '.join(_SHOWN)}")
    settings = [name for name in rows[0] if not _measured(name)]
    varied = [name for name in settings if len({str(row[name]) for row in rows}) > 1] or settings[:1]
    shown = [name for name in _SHOWN if name in measures]
    cells = [[*(_text(row[name]) for name in varied), *(_rate(row, name) for name in shown)] for row in rows]
    head = "" if len(rows) <= _MOST_ROWS else f"<p>The first {_MOST_ROWS} of {len(rows)} cells.</p>"
    tools = choice("sweep-y", "Measure") + choice("sweep-x", "Over") + choice("sweep-by", "Lines by")
    sections = [
        (
            "over",
            "A measure over a setting",
            f'<div class="tools">{tools}</div>{plot("sweep", "Bars: 95 % intervals.")}',
        ),
        ("tradeoff", "Attack success against accuracy", plot("sweep-tradeoff", "A point a cell.")),
        ("cells", "Cells", head + table([*varied, *shown], cells[:_MOST_ROWS], len(varied))),
    ]
    same = [
        f"{name} {_text(rows[0][name])}"
        for name in settings
        if name not in varied and rows[0][name] is not None
    ]
    data = {"names": {}, "sweep": {"rows": rows, "settings": settings, "measures": measures}}
    return assemble("SecureCollaRAG: sweep", f"{len(rows)} cells. {root}", same, sections, data)


def read_table(path: Path) -> list[Row]:
    """The cells of a sweep's table; what reads as a number is one, what is empty is None.

    Raises:
        DataError: no cells.
    """
    with path.open(newline="", encoding="utf-8") as file:
        rows = [{name: _value(text) for name, text in row.items() if name} for row in csv.DictReader(file)]
    if not rows:
        raise DataError(f"{path}: holds no cell")
    return rows


def _measured(name: str) -> bool:
    return name in _MEASURES or name in _COUNTS or name.rpartition("_")[2] in ("low", "high", "n")


def _value(text: str | None) -> str | float | int | None:
    if not text:
        return None
    for kind in (int, float):
        try:
            value = kind(text)
        except ValueError:
            continue
        return value if abs(value) < float("inf") else text
    return text


def _text(value: Any) -> str:
    return "–" if value is None else str(value)


def _rate(row: Mapping[str, Any], name: str) -> str:
    value = row.get(name)
    return "–" if not isinstance(value, int | float) else f"{100 * value:.1f} %"


def points(rows: Sequence[Row]) -> list[tuple[float, float]]:
    """(accuracy, ASR) of the cells that have both."""
    return [
        (float(row["accuracy"]), float(row["asr"]))
        for row in rows
        if isinstance(row.get("accuracy"), int | float) and isinstance(row.get("asr"), int | float)
    ]
