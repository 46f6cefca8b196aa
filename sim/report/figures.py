"""The report's figures on paper: the same numbers drawn by matplotlib as PNG, SVG and PDF."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from core.errors import MissingPackageError
from sim.report.sweep_page import TABLE, points, read_table

FORMATS = ("png", "svg", "pdf")
_COLOURS = {
    "benign": "#0072b2",
    "malicious": "#c24e00",
    "neutral": "#6d7480",
}  # told apart by colour-blind eyes
_MARKERS = {"benign": "o", "malicious": "x", "neutral": "d"}
_INK = "#333333"


def draw_run(content: Mapping[str, Any], target: Path, formats: Sequence[str]) -> list[str]:
    """Every figure that `content` (of `run_page.content_of`) has numbers for; returns the files' names."""
    written = []
    for name, draw in _DRAW.items():
        for number, part in enumerate(_parts(name, content)):
            suffix = f"-trial{number + 1}" if name in _PER_TRIAL and len(content[name]) > 1 else ""
            written += _save(partial(draw, part=part), f"{name}{suffix}", target, formats)
    return written


def draw_sweep(root: Path, target: Path, formats: Sequence[str]) -> list[str]:
    """ASR against accuracy of a sweep's cells."""
    return _save(lambda plt: _cells(plt, points(read_table(root / TABLE))), "tradeoff", target, formats)


def _parts(name: str, content: Mapping[str, Any]) -> list[Any]:
    if name not in content:
        return []
    return list(content[name]) if name in _PER_TRIAL else [content[name]]


def _save(draw: Callable[[Any], Any], name: str, target: Path, formats: Sequence[str]) -> list[str]:
    try:
        import matplotlib as mpl

        mpl.use("Agg")
        import matplotlib.pyplot as plt
    except ModuleNotFoundError as error:
        raise MissingPackageError(
            "figures need the package 'matplotlib': pip install 'securecollarag[report]'"
        ) from error
    target.mkdir(parents=True, exist_ok=True)
    style = {
        "svg.fonttype": "none",
        "pdf.fonttype": 42,
        "font.size": 9,
        "savefig.bbox": "tight",
        "svg.hashsalt": "scr",
    }
    with plt.rc_context(style):
        figure = draw(plt)
        for kind in formats:
            figure.savefig(target / f"{name}.{kind}", dpi=200, metadata=_no_date(kind))
        plt.close(figure)
    return [f"{name}.{kind}" for kind in formats]


def _no_date(kind: str) -> dict[str, None]:
    """Metadata that keeps equal figures equal files."""
    return {"svg": {"Date": None}, "pdf": {"CreationDate": None}}.get(kind, {})


def _headline(plt: Any, part: Sequence[Mapping[str, Any]]) -> Any:
    from sim.report.numbers import FIGURES

    figure, axes = plt.subplots(1, len(FIGURES), figsize=(10, 0.4 * len(part) + 1), sharey=True)
    for axis, (name, title) in zip(axes, FIGURES.items(), strict=True):
        for i, row in enumerate(part):
            if row[name]["value"] is not None:
                axis.errorbar(
                    *_point(row[name], i), fmt="D" if i == len(part) - 1 else "o", color=_COLOURS["benign"]
                )
        axis.set(title=title, xlim=(-5, 105), xlabel="%", ylim=(len(part) - 0.5, -0.5))
        axis.set_yticks(range(len(part)), [row["title"] for row in part])
        axis.grid(axis="x", alpha=0.3)
    return figure


def _point(figure: Mapping[str, Any], at: float) -> tuple[float, float, None, list[list[float]]]:
    value = 100 * figure["value"]
    low, high = figure["ci95"] or (figure["value"], figure["value"])
    return value, at, None, [[max(0.0, value - 100 * low)], [max(0.0, 100 * high - value)]]


def _tradeoff(plt: Any, part: Sequence[Mapping[str, Any]]) -> Any:
    figure, axis = plt.subplots(figsize=(5, 4))
    hues = [*_COLOURS.values(), "#009e73", "#000000"]
    for i, row in enumerate(part):
        if row["asr"]["value"] is not None and row["accuracy"]["value"] is not None:
            x, y = 100 * row["accuracy"]["value"], 100 * row["asr"]["value"]
            wide, tall = _point(row["accuracy"], 0)[3], _point(row["asr"], 0)[3]
            axis.errorbar(
                x, y, tall, wide, fmt="osDv^"[i % 5], color=hues[i % 5], label=row["title"], capsize=3
            )
    axis.set(xlabel="accuracy (%)", ylabel="attack success (%)", xlim=(-5, 105), ylim=(-5, 105))
    axis.legend(frameon=False)
    axis.grid(alpha=0.3)
    return figure


def _reliability(plt: Any, part: Mapping[str, Any]) -> Any:
    figure, axis = plt.subplots(figsize=(6, 3.5))
    seen = set()
    for source in part["sources"]:
        kind = "malicious" if source["malicious"] else "benign"
        values = [np.nan if value is None else value for value in source["values"]]
        label = None if kind in seen else f"{kind} source"
        seen.add(kind)
        style = "--" if source["malicious"] else "-"
        axis.plot(part["rounds"], values, style, color=_COLOURS[kind], label=label, linewidth=1.3)
    axis.set(xlabel="round", ylabel="reliability", ylim=(-0.03, 1.03))
    axis.legend(frameon=False)
    axis.grid(alpha=0.3)
    return figure


def _confusion(plt: Any, part: Mapping[str, Mapping[str, int]]) -> Any:
    labels = [label for label, counts in part.items() if sum(counts.values())]
    counts = np.array([[part[label]["kept"], part[label]["rejected"]] for label in labels])
    share = counts / np.maximum(1, counts.sum(axis=1, keepdims=True))
    figure, axis = plt.subplots(figsize=(3.4, 0.7 * len(labels) + 0.8))
    axis.imshow(share, cmap="Blues", vmin=0, vmax=1, aspect="auto")
    for i, j in np.ndindex(share.shape):
        colour = "white" if share[i, j] > 0.55 else "black"
        axis.text(j, i, f"{counts[i, j]}\n{share[i, j]:.1%}", ha="center", va="center", color=colour)
    axis.set_xticks([0, 1], ["kept", "rejected"])
    axis.set_yticks(range(len(labels)), labels)
    return figure


def _calibration(plt: Any, part: Mapping[str, Sequence[float]]) -> Any:
    figure, axis = plt.subplots(figsize=(4, 4))
    axis.plot([0, 1], [0, 1], ":", color=_INK)
    axis.plot(part["credibility"], part["benign"], "o-", color=_COLOURS["benign"])
    for x, y, n in zip(part["credibility"], part["benign"], part["count"], strict=True):
        axis.annotate(str(n), (x, y), textcoords="offset points", xytext=(5, -9), fontsize=7)
    axis.set(xlabel="credibility given", ylabel="share benign", xlim=(-0.03, 1.03), ylim=(-0.03, 1.03))
    axis.grid(alpha=0.3)
    return figure


def _latency(plt: Any, part: Mapping[str, Sequence[float]]) -> Any:
    figure, axis = plt.subplots(figsize=(6, 0.45 * len(part) + 0.8))
    keys = ("whislo", "q1", "med", "q3", "whishi")
    boxes = [{**dict(zip(keys, values, strict=True)), "label": step} for step, values in part.items()]
    axis.bxp(boxes, showfliers=False, orientation="horizontal")
    axis.set(xlabel="milliseconds", xscale="log")
    axis.invert_yaxis()
    return figure


def _skew(plt: Any, part: Mapping[str, Any]) -> Any:
    counts = np.array(part["counts"])
    figure, axis = plt.subplots(figsize=(1.5 + 0.32 * counts.shape[1], 1 + 0.25 * counts.shape[0]))
    image = axis.imshow(counts, cmap="Blues", aspect="auto")
    axis.set_xticks(range(counts.shape[1]), part["categories"], rotation=45, ha="right")
    marks = [
        f"{'× ' if bad else ''}{name}" for name, bad in zip(part["sources"], part["malicious"], strict=True)
    ]
    axis.set_yticks(range(counts.shape[0]), marks)
    figure.colorbar(image, label="documents")
    return figure


def _projection(plt: Any, part: Mapping[str, Sequence[Any]]) -> Any:
    figure, axes = plt.subplots(1, 2, figsize=(9, 4), sharex=True, sharey=True)
    x, y, label, kept = (np.array(part[name]) for name in ("x", "y", "label", "kept"))
    for axis, title, shown in zip(axes, ("before", "after"), (np.ones(len(x), bool), kept), strict=True):
        for kind in ("neutral", "benign", "malicious"):
            rows = (label == kind) & shown
            if rows.any():
                style = {"color": _COLOURS[kind], "marker": _MARKERS[kind], "s": 12, "alpha": 0.8}
                axis.scatter(x[rows], y[rows], label=f"{kind} ({rows.sum()})", linewidths=1, **style)
        axis.set(title=f"{title} verification", xticks=[], yticks=[])
        axis.legend(frameon=False, loc="upper center", bbox_to_anchor=(0.5, 0), ncols=3, fontsize=8)
    return figure


def _cells(plt: Any, found: Sequence[tuple[float, float]]) -> Any:
    figure, axis = plt.subplots(figsize=(5, 4))
    axis.scatter([x for x, _ in found], [y for _, y in found], color=_COLOURS["benign"])
    axis.set(xlabel="accuracy", ylabel="ASR", xlim=(-0.05, 1.05), ylim=(-0.05, 1.05))
    axis.grid(alpha=0.3)
    return figure


_PER_TRIAL = frozenset({"reliability", "skew"})
_DRAW: dict[str, Callable[..., Any]] = {
    "headline": _headline,
    "tradeoff": _tradeoff,
    "reliability": _reliability,
    "confusion": _confusion,
    "calibration": _calibration,
    "latency": _latency,
    "skew": _skew,
    "projection": _projection,
}
