"""What a run came to, in a few lines below the comparison table."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any


def summary_lines(metrics: Mapping[str, Any]) -> list[str]:
    """One line each on documents, sources, time and failures of the chosen defense; - does not apply."""
    documents, reliability, latency = metrics["documents"], metrics["reliability"], metrics["latency_ms"]
    counts = f"{documents['n_benign']} benign"
    if documents["n_malicious"] is not None:
        counts += f", {documents['n_malicious']} malicious, {documents['n_neutral']} neutral"
    auroc, ece = _number(documents["auroc"]), _number(documents["ece"])
    lines = [
        f"documents: {counts}; AUROC {auroc}, calibration error {ece}",
        f"reliability at the end: benign {_number(reliability['benign_mean'])}, "
        f"malicious {_number(reliability['malicious_mean'])}",
        "median ms: " + ", ".join(f"{step} {_number(latency[step]['p50'], 1)}" for step in latency),
    ]
    failed = {kind: count for kind, count in metrics["failures"].items() if kind != "llm"}
    if failed:
        lines.append("source failures: " + ", ".join(f"{kind} {count}" for kind, count in failed.items()))
    if "llm" in metrics["failures"]:
        lines.append(f"calls of a language model that failed: {metrics['failures']['llm']}")
    errors = {name: stage["errors"] for name, stage in metrics["stages"].items() if stage["errors"]}
    if errors:
        lines.append("stage errors: " + ", ".join(f"{name} {count}" for name, count in errors.items()))
    return lines


def _number(value: float | None, digits: int = 3) -> str:
    return "-" if value is None else f"{value:.{digits}f}"
