"""The report of one run."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from core.embedding.base import Embedder
from sim.report import numbers
from sim.report.explorer import MOST_ROUNDS, explorer
from sim.report.load import RunData
from sim.report.page import assemble, asset, choice, plot, table
from sim.report.projection import project
from sim.summary import summary_lines

Section = tuple[str, str, str]


def run_report(data: RunData, embedder: Callable[[], Embedder] | None) -> str:
    """The page of `data`; `embedder` makes the vectors of the projection, None leaves it out."""
    content = content_of(data, embedder)
    sections = [
        *_headline(content),
        *_reliability(content),
        *_judgement(content),
        *_projection(content),
        *_time(data, content),
        *_skew(content),
        _explorer(len(data.rounds)),
    ]
    questions = len({record.query_id for record in data.rounds})
    trials = len({record.trial for record in data.rounds})
    counted = f"{questions} questions, {trials} trial{'s' if trials > 1 else ''}"
    lead = f"{len(data.rounds)} rounds: {counted}. {data.root}"
    if not data.metrics:
        lead += " — the run has not ended: figures are of the rounds so far"
    return assemble(f"SecureCollaRAG: {data.name}", lead, _labels(data), sections, content)


def content_of(data: RunData, embedder: Callable[[], Embedder] | None) -> dict[str, Any]:
    """Everything that the page draws, as plain values; what does not apply is left out."""
    seed = int(data.config.get("seed", 0))
    rounds = data.rounds
    scored = any(record.reliability_after for record in rounds)
    headline = numbers.headline(data)
    found: dict[str, Any] = {
        "names": numbers.FIGURES,
        "headline": headline,
        "tradeoff": headline if any(row["asr"]["value"] is not None for row in headline) else None,
        "reliability": numbers.reliability(rounds) if scored else None,
        "confusion": numbers.confusion(rounds),
        "calibration": numbers.calibration(rounds),
        "latency": numbers.latencies(rounds),
        "stages": numbers.stages(data.metrics),
        "skew": numbers.skew(data.shards),
        "projection": project(rounds, data.texts, embedder(), seed) if embedder and data.texts else None,
        "explorer": {**explorer(data), "trials": len({record.trial for record in rounds})},
    }
    return {name: value for name, value in found.items() if value}


def _labels(data: RunData) -> list[str]:
    config = data.config
    told = [
        f"{name} {config[name]}"
        for name in ("dataset", "sources", "malicious", "replication")
        if name in config
    ]
    told += [f"seed {config['seed']}"] if "seed" in config else []
    return [*told, f"reader {config.get('reader', '?')}", *data.comparison.get("labels", ())]


def _headline(content: Mapping[str, Any]) -> list[Section]:
    rows = content.get("headline")
    if not rows:
        return []
    cells = [[row["title"], *(_interval(row[name]) for name in numbers.FIGURES)] for row in rows]
    body = (
        "<p>Every arm judges the same replies. Lines are 95 % bootstrap intervals over questions; "
        "the diamond is the chosen defense.</p>"
        + plot("headline")
        + table(["", *numbers.FIGURES.values()], cells)
    )
    found = [("comparison", "Comparison", body)]
    if "tradeoff" in content:
        caption = (
            "Good defenses stand at the lower right: no attack succeeds, and questions are still answered."
        )
        found.append(("tradeoff", "Attack success against accuracy", plot("tradeoff", caption)))
    return found


def _reliability(content: Mapping[str, Any]) -> list[Section]:
    if "reliability" not in content:
        return []
    caption = "What the aggregator thinks of each source after each round; malicious sources are dashed."
    body = _trials("trial-reliability", content["reliability"]) + plot("reliability", caption)
    return [("reliability", "Reliability of the sources", body)]


def _judgement(content: Mapping[str, Any]) -> list[Section]:
    caption = "Counts per source and document. Neutral: honest documents of a malicious source."
    body = f"<div><h3>Kept and rejected</h3>{plot('confusion', caption)}</div>"
    if "calibration" in content:
        caption = "Of the documents given this credibility, how many are benign?"
        body += f"<div><h3>Calibration</h3>{plot('calibration', caption)}</div>"
    body = f'<div class="pair">{body}</div>'
    if "stages" in content:
        heads = ["stage", "benign dropped", "malicious dropped", "errors"]
        rows = [
            [one["stage"], *(_count(one[key]) for key in ("dropped_benign", "dropped_malicious", "errors"))]
            for one in content["stages"]
        ]
        body += "<h3>By stage</h3>" + table(heads, rows)
    return [("judgement", "Judgement of documents", body)]


def _projection(content: Mapping[str, Any]) -> list[Section]:
    if "projection" not in content:
        return []
    body = (
        "<p>A sample of the documents by t-SNE of their embeddings (as in the SCR paper's Figures 4 and 5). "
        "Distances between far groups mean nothing.</p>"
        f'<div class="pair"><div><h3>Before verification</h3>{plot("before")}</div>'
        f"<div><h3>After verification</h3>{plot('after')}</div></div>"
    )
    return [("projection", "Documents in the plane", body)]


def _time(data: RunData, content: Mapping[str, Any]) -> list[Section]:
    body = ""
    if "latency" in content:
        body = plot("latency", "Boxes: middle half; whiskers: 5th to 95th percentile of the rounds.")
    if data.metrics:
        lines = "".join(f"<li>{line}</li>" for line in map(_plain, summary_lines(data.metrics)))
        body += f"<ul>{lines}</ul>"
    return [("time", "Time and failures", body)] if body else []


def _skew(content: Mapping[str, Any]) -> list[Section]:
    if "skew" not in content:
        return []
    first = content["skew"][0]
    told = (
        f"Dirichlet alpha {first['alpha']}; mean divergence of two sources' mixes {first['divergence']:.3f}."
    )
    body = _trials("trial-skew", content["skew"]) + plot("skew", told)
    return [("skew", "Skew of the shards", body)]


def _explorer(n_rounds: int) -> Section:
    note = "" if n_rounds <= MOST_ROUNDS else f"<p>{MOST_ROUNDS} of {n_rounds} rounds, at even distances.</p>"
    return ("rounds", "Round explorer", note + asset("explorer.html"))


def _trials(name: str, trials: Sequence[Mapping[str, Any]]) -> str:
    if len(trials) < 2:
        return ""
    options = [(i, f"trial {one['trial'] + 1}") for i, one in enumerate(trials)]
    return f'<div class="tools">{choice(name, "Trial", options)}</div>'


def _interval(figure: Mapping[str, Any]) -> str:
    if figure["value"] is None:
        return "–"
    text = f"{100 * figure['value']:.1f} %"
    if figure["ci95"]:
        low, high = figure["ci95"]
        text += f" ({100 * low:.1f}–{100 * high:.1f})"
    return text


def _count(value: int | None) -> str:
    return "–" if value is None else str(value)


def _plain(line: str) -> str:
    return line.replace("&", "&amp;").replace("<", "&lt;")
