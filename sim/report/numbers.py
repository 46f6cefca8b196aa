"""The numbers behind the report's figures: plotly draws them on the page, matplotlib on paper."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from sim.metrics import ECE_BINS, STEPS
from sim.report.load import RunData
from sim.round_record import RoundRecord

FIGURES = {
    "asr": "attack success (ASR)",
    "accuracy": "accuracy",
    "target_rate": "target rate",
    "tpr": "benign kept (TPR)",
    "tnr": "malicious rejected (TNR)",
}
LABELS = ("benign", "malicious", "neutral")
MOST_POINTS = 300  # of a line over rounds
MOST_SOURCES = 60  # lines of single sources; beyond, only the means of both kinds


def headline(data: RunData) -> list[dict[str, Any]]:
    """One row an arm: its title and each figure with value, interval and n; [] where the run did not end."""
    rows = data.comparison.get("rows", [])
    return [
        {"title": row["title"], "arm": row["arm"], **{name: row[name] for name in FIGURES}} for row in rows
    ]


def reliability(rounds: Sequence[RoundRecord]) -> list[dict[str, Any]]:
    """For each trial: the rounds drawn, and each source's reliability after them, its role with it.

    Beyond 60 sources the two kinds' means stand for them.
    """
    trials: dict[int, list[RoundRecord]] = defaultdict(list)
    for record in rounds:
        trials[record.trial].append(record)
    found = []
    for trial, ones in sorted(trials.items()):
        steps = np.unique(np.linspace(0, len(ones) - 1, min(len(ones), MOST_POINTS)).astype(int))
        malicious = {name for record in ones for name in record.malicious_sources}
        names = sorted({name for record in ones for name in record.reliability_after})
        table = np.array([[ones[i].reliability_after.get(name, np.nan) for name in names] for i in steps])
        sources = [
            {"id": name, "malicious": name in malicious, "values": _numbers(table[:, j])}
            for j, name in enumerate(names)
        ]
        if len(sources) > MOST_SOURCES:
            sources = [_mean_line(sources, table, kind) for kind in (False, True) if _some(sources, kind)]
        found.append({"trial": trial, "rounds": [int(ones[i].index) + 1 for i in steps], "sources": sources})
    return found


def confusion(rounds: Sequence[RoundRecord]) -> dict[str, dict[str, int]]:
    """Label -> how many documents of it were kept and rejected, per (source, document)."""
    found = {label: {"kept": 0, "rejected": 0} for label in LABELS}
    for record in rounds:
        for document in record.documents:
            found[document.label]["kept" if document.kept else "rejected"] += 1
    return found


def calibration(rounds: Sequence[RoundRecord]) -> dict[str, list[Any]] | None:
    """Ten bins of the credibility: its mean, the share that is benign, the count; None without scores."""
    scored = [
        (document.credibility, document.label == "benign")
        for record in rounds
        for document in record.documents
        if document.credibility is not None and document.label != "neutral"
    ]
    if not scored:
        return None
    values, benign = np.array(scored, dtype=float).T
    index = np.minimum((values * ECE_BINS).astype(int), ECE_BINS - 1)
    count = np.bincount(index, minlength=ECE_BINS)
    safe = np.maximum(count, 1)
    mean = np.bincount(index, values, ECE_BINS) / safe
    share = np.bincount(index, benign, ECE_BINS) / safe
    some = count > 0
    return {
        "credibility": _numbers(mean[some]),
        "benign": _numbers(share[some]),
        "count": count[some].tolist(),
    }


def latencies(rounds: Sequence[RoundRecord]) -> dict[str, list[float]]:
    """Step -> its 5th, 25th, 50th, 75th and 95th percentile in ms; steps that never ran are left out."""
    found = {}
    for step in STEPS:
        known = [record.latency_ms.get(step) for record in rounds]
        values = [value for value in known if value is not None]
        if values:
            found[step] = [round(float(v), 3) for v in np.percentile(values, [5, 25, 50, 75, 95])]
    return found


def stages(metrics: Mapping[str, Any]) -> list[dict[str, Any]]:
    """What each stage dropped of either label, and how often it failed."""
    return [{"stage": name, **counts} for name, counts in metrics.get("stages", {}).items()]


def skew(shards: Sequence[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """For each trial: sources, categories and the matrix of documents (rows: sources)."""
    found = []
    for table in shards:
        totals: dict[str, int] = defaultdict(int)
        for source in table["sources"]:
            for name, count in source["categories"].items():
                totals[name] += count
        names = sorted(totals, key=lambda name: (-totals[name], name))
        found.append(
            {
                "trial": table["trial"],
                "alpha": table["alpha"],
                "divergence": table["mean_divergence"],
                "sources": [source["id"] for source in table["sources"]],
                "malicious": [source["malicious"] for source in table["sources"]],
                "categories": names,
                "counts": [
                    [source["categories"].get(name, 0) for name in names] for source in table["sources"]
                ],
            }
        )
    return found


def _some(sources: Sequence[Mapping[str, Any]], malicious: bool) -> bool:
    return any(source["malicious"] == malicious for source in sources)


def _mean_line(sources: Sequence[Mapping[str, Any]], table: np.ndarray, malicious: bool) -> dict[str, Any]:
    columns = [j for j, source in enumerate(sources) if source["malicious"] == malicious]
    values = [
        float(np.mean(known)) if (known := row[~np.isnan(row)]).size else np.nan for row in table[:, columns]
    ]
    kind = "malicious" if malicious else "benign"
    name = f"mean of {len(columns)} {kind} sources"
    return {"id": name, "malicious": malicious, "values": _numbers(np.array(values))}


def _numbers(values: np.ndarray) -> list[float | None]:
    return [None if np.isnan(value) else round(float(value), 4) for value in values]
