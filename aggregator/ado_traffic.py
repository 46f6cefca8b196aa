"""Benign traffic as calibration reads it: recorded queries, or the trails of an orchestrating aggregator."""

from __future__ import annotations

import json
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from aggregator.fan_out import FanOut
from aggregator.fusion import fuse
from core.embedding.base import Embedder
from core.errors import DataError
from core.records import Query
from core.stage import StageInput
from defenses.ado.signals import QueryHistory, as_mapping, query_signals, retrieval_signals


@dataclass(frozen=True)
class Recorded:
    """One benign query: its text, and its signals where a trail holds them."""

    text: str
    user_id: str = ""
    time: float | None = None
    query: dict[str, float] | None = None
    retrieval: dict[str, float] | None = None


def read_recorded(path: Path) -> list[Recorded]:
    """The queries in a JSONL file.

    A line is `{"text", "user_id"?, "time"?}` (seconds; without it the speed is not calibrated) or a
    line of an aggregator's `trail.jsonl`.

    Raises:
        DataError: missing file, a line that is neither, or one marked as an attack (names the line).
    """
    try:
        lines = path.read_text(encoding="utf-8").splitlines()
    except (OSError, UnicodeDecodeError) as error:
        raise DataError(f"{path}: cannot be read: {error}") from None
    return [_record(path, number, line) for number, line in enumerate(lines, start=1) if line.strip()]


def signals_of(
    recorded: Iterable[Recorded], window: int = 10
) -> tuple[list[dict[str, float]], list[dict[str, float]]]:
    """(query signals, retrieval signals known from trails) of benign traffic, in the order recorded."""
    history = QueryHistory(window)
    queries, rounds = [], []
    for line in recorded:
        if line.query is not None:
            queries.append(line.query)
        else:
            now = 0.0 if line.time is None else line.time
            values = as_mapping(query_signals(line.text, history.observe(line.user_id, line.text, now), now))
            if line.time is None:
                del values["velocity"]
            queries.append(values)
        if line.retrieval is not None:
            rounds.append(line.retrieval)
    return queries, rounds


def ask_sources(
    recorded: Iterable[Recorded], fan_out: FanOut, embedder: Embedder | None, top_k: int
) -> list[dict[str, float]]:
    """Retrieval signals of every query, asked of the running federation (nothing is answered or learned)."""
    rounds = []
    for number, line in enumerate(recorded):
        query = Query(line.text, f"calibrate-{number}")
        fused = fuse(fan_out.gather(query, top_k).replies, query, embedder)
        given = StageInput(query, fused.candidates, fused.vectors, fused.query_vector)
        if fused.candidates:
            rounds.append(as_mapping(retrieval_signals(given, top_k=top_k)))
    return rounds


def _record(path: Path, number: int, line: str) -> Recorded:
    try:
        values: dict[str, Any] = json.loads(line)
        if values.get("kind", "benign") != "benign":
            raise DataError.at(
                path, number, f"is marked {values['kind']!r}: calibrate on benign traffic only"
            )
        if "query" in values:
            passes = {p["pass"]: p["signals"] for p in values.get("orchestration", {}).get("passes", ())}
            return Recorded(str(values["query"]), query=passes.get("before"), retrieval=passes.get("after"))
        time = values.get("time")
        return Recorded(
            str(values["text"]), str(values.get("user_id", "")), None if time is None else float(time)
        )
    except (ValueError, TypeError, KeyError, AttributeError) as error:
        raise DataError.at(path, number, f"needs a text (and user_id, time), or a trail: {error}") from None
