"""All cells in one tidy table: a row a cell, its place on the axes first; CSV and Parquet."""

from __future__ import annotations

import csv
import io
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from core.errors import MissingPackageError
from core.paths import write_atomic

_RATES = ("asr", "accuracy", "target_rate")
_DOCUMENTS = ("n_benign", "n_malicious", "n_neutral", "tpr", "tnr", "fpr", "fnr", "auroc", "ece")
_RETRIEVAL = ("recall_at_k", "mrr", "poisoned_mrr", "sr", "retrieval_asr")
_SETTINGS = (
    "dataset",
    "reader",
    "reader_k",
    "sources",
    "trials",
    "rounds_warmup",
    "behavior",
    "llm",
    "embedder",
)


def tidy(cell: Mapping[str, Any]) -> dict[str, Any]:
    """One finished cell as a row; None where a value does not apply."""
    metrics, cost, rounds = cell["metrics"], cell["cost"], cell["rounds"]
    row: dict[str, Any] = dict(cell["place"])
    row |= {name: cell["settings"][name] for name in _SETTINGS}
    row |= {"n_queries": metrics["n_queries"], "n_rounds": len(rounds)}
    for name in _RATES:
        low, high = metrics[name]["ci95"] or (None, None)
        row |= {name: metrics[name]["value"], f"{name}_low": low, f"{name}_high": high}
        row[f"{name}_n"] = metrics[name]["n"]
    row |= {name: metrics["documents"][name] for name in _DOCUMENTS}
    row |= {name: metrics["retrieval"][name] for name in _RETRIEVAL}
    row |= {f"reliability_{side}": metrics["reliability"][f"{side}_mean"] for side in ("benign", "malicious")}
    row |= {
        "cpu_ms_p50": cost["cpu_ms"]["p50"],
        "cpu_ms_p95": cost["cpu_ms"]["p95"],
        "llm_calls": cost["llm_calls"],
        "refused": sum(r["refused"] for r in rounds),
        "stage_errors": sum(stage["errors"] for stage in metrics["stages"].values()),
        "llm_failures": metrics["failures"].get("llm", 0),
        "source_failures": sum(count for kind, count in metrics["failures"].items() if kind != "llm"),
    }
    return row


def write_table(cells: Sequence[Mapping[str, Any]], out: Path) -> None:
    """Write `out/table.csv`, and `out/table.parquet` with the same columns.

    Raises:
        MissingPackageError: pyarrow is not installed; the CSV is written.
    """
    rows = [tidy(cell) for cell in cells]
    write_atomic(out / "table.csv", as_csv(rows))
    write_atomic(out / "table.parquet", as_parquet(rows))


def as_csv(rows: Sequence[Mapping[str, Any]]) -> str:
    """A header and a line a row; nothing stands where a value does not apply."""
    text = io.StringIO()
    writer = csv.DictWriter(text, list(rows[0]), lineterminator="\n")
    writer.writeheader()
    writer.writerows(rows)
    return text.getvalue()


def as_parquet(rows: Sequence[Mapping[str, Any]]) -> bytes:
    """The rows as a Parquet file; a column without any value is of floats.

    Raises:
        MissingPackageError: pyarrow is not installed.
    """
    try:
        import pyarrow as pa
        import pyarrow.parquet as parquet
    except ModuleNotFoundError as error:
        raise MissingPackageError(
            "the table as Parquet needs the package 'pyarrow': pip install 'securecollarag[sim]'"
        ) from error
    columns = {}
    for name in rows[0]:
        values = [row[name] for row in rows]
        empty = all(value is None for value in values)
        mixed = any(isinstance(value, float) for value in values)  # ratios that happen to be whole
        columns[name] = pa.array(values, type=pa.float64() if empty or mixed else None)
    sink = pa.BufferOutputStream()
    parquet.write_table(pa.table(columns), sink)
    return bytes(sink.getvalue().to_pybytes())
