"""A run's folder as `scr sim run --out` leaves it, read for the report."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from core.config import read_yaml
from core.errors import DataError
from sim.round_record import RoundRecord
from sim.shards import NAME as SHARDS
from sim.texts import NAME as TEXTS
from sim.texts import read_texts

UNDEFENDED = "ms_rag"


@dataclass(frozen=True)
class Before:
    """What was answered to one question without a defense."""

    answer: str
    correct: bool | None
    target_given: bool | None
    abstained: bool


@dataclass(frozen=True)
class RunData:
    """One finished or interrupted run.

    `metrics` and `comparison` are empty where the run did not end. `texts` (hash -> text) and `shards`
    (one table a trial) are empty where an older version made the run. `before` maps (trial, index) to the
    undefended answer, where that arm was run.
    """

    root: Path
    config: Mapping[str, Any]
    metrics: Mapping[str, Any]
    comparison: Mapping[str, Any]
    rounds: tuple[RoundRecord, ...]
    texts: Mapping[str, str]
    shards: tuple[Mapping[str, Any], ...]
    before: Mapping[tuple[int, int], Before]

    @property
    def name(self) -> str:
        """What the run was, in one line."""
        defense = self.config.get("defense") or []
        stages = " + ".join([defense] if isinstance(defense, str) else map(str, defense))
        return f"{self.config.get('attack', '?')} against {stages or '?'}"


def load_run(root: Path) -> RunData:
    """The run in `root`.

    Raises:
        DataError: there are no rounds, or a file is not what a run writes; the message names it.
    """
    rounds_file = root / "rounds.jsonl"
    if not rounds_file.is_file():
        raise DataError(
            f"{root}: neither a run (rounds.jsonl) nor a sweep (table.csv); give the --out of one"
        )
    rounds = tuple(
        RoundRecord.from_line(line, f"{rounds_file}:{number}") for number, line in _whole_lines(rounds_file)
    )
    if not rounds:
        raise DataError(f"{rounds_file}: holds no round yet")
    texts = read_texts(root / TEXTS) if (root / TEXTS).is_file() else {}
    config_file = root / "config.yaml"
    return RunData(
        root=root,
        config=read_yaml(config_file) if config_file.is_file() else {},
        metrics=_json(root / "metrics.json"),
        comparison=_json(root / "comparison.json"),
        rounds=rounds,
        texts=texts,
        shards=tuple(_json(root / SHARDS).get("trials", ())),
        before=_before(root / "arms" / f"{UNDEFENDED}.jsonl"),
    )


def _before(path: Path) -> dict[tuple[int, int], Before]:
    if not path.is_file():
        return {}
    found = {}
    for number, line in _whole_lines(path):
        try:
            one = json.loads(line)
            found[one["trial"], one["index"]] = Before(
                one["answer"], one["correct"], one["target_given"], one["abstained"]
            )
        except (ValueError, KeyError, TypeError):
            raise DataError(f"{path}:{number}: not a round of this version") from None
    return found


def _whole_lines(path: Path) -> list[tuple[int, str]]:
    """Numbered lines that end in a newline: a run that is still going may be writing the last one."""
    *whole, _torn = path.read_bytes().split(b"\n")
    return [(number, line.decode("utf-8", "replace")) for number, line in enumerate(whole, 1)]


def _json(path: Path) -> dict[str, Any]:
    if not path.is_file():
        return {}
    try:
        found = json.loads(path.read_text(encoding="utf-8"))
    except ValueError as error:
        raise DataError(f"{path}: not JSON ({error})") from None
    if not isinstance(found, dict):
        raise DataError(f"{path}: must be an object")
    return found
