"""What is normal here: ranges of every signal, learned from a deployment's own benign traffic.

Absolute thresholds do not travel: a batch job asks at machine speed, a clinic's questions are long,
another encoder spreads its vectors differently. A signal therefore counts by how far it lies beyond
the range that benign traffic fills, in units of that range.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np
from pydantic import Field, model_validator

from core.config import StrictModel, parse
from core.errors import ConfigError, DataError
from core.paths import write_atomic
from defenses.ado.signals import QUERY_SIGNALS, RETRIEVAL_SIGNALS

_UPPER, _LOWER = 0.99, 0.01
MIN_ROUNDS = 20  # fewer say nothing about such a range
# A range of width zero (no benign query has a placeholder) needs a unit: what one step beyond means.
_UNIT = {
    "overlap": 0.15,
    "complexity": 0.05,
    "velocity": 1.0,
    "length": 8.0,
    "blanks": 3.0,
    "extraction": 1.0,
    "membership": 1.0,
    "instruction": 1.0,
    "dispersion": 1e-4,
    "drop_off": 0.05,
    "tightness": 0.05,
    "question_echo": 0.2,
    "quoted": 0.25,
    "credibility_spread": 0.05,
    "disagreement": 0.1,
}


class Range(StrictModel):
    """Where benign values of a signal lie: 1 %, 50 % and 99 % quantiles."""

    lower: float
    median: float
    upper: float

    @model_validator(mode="after")
    def _ordered(self) -> Range:
        if not self.lower <= self.median <= self.upper:
            raise ValueError("lower ≤ median ≤ upper must hold")
        return self


class Calibration(StrictModel):
    """Normal ranges by signal name; `n_queries` and `n_rounds` say how much traffic they rest on.

    A name that is missing from `ranges` was never seen: that signal carries no evidence.
    """

    version: int = Field(default=1, ge=1, le=1)
    n_queries: int = Field(default=0, ge=0)
    n_rounds: int = Field(default=0, ge=0)
    ranges: dict[str, Range] = Field(default_factory=dict)

    @model_validator(mode="after")
    def _known(self) -> Calibration:
        unknown = sorted(self.ranges.keys() - _UNIT.keys())
        if unknown:
            raise ValueError(f"unknown signal {unknown[0]!r}; known: {', '.join(sorted(_UNIT))}")
        return self

    def above(self, name: str, value: float | None) -> float:
        """How far `value` lies above the normal range, [0,1]: 0 inside, 1 a full range beyond."""
        known = self.ranges.get(name)
        if known is None or value is None:
            return 0.0
        width = max(known.upper - known.median, _UNIT[name])
        return min(1.0, max(0.0, (value - known.upper) / width))

    def below(self, name: str, value: float | None) -> float:
        """How far `value` lies below the normal range, [0,1]."""
        known = self.ranges.get(name)
        if known is None or value is None:
            return 0.0
        width = max(known.median - known.lower, _UNIT[name])
        return min(1.0, max(0.0, (known.lower - value) / width))


def calibrate(
    queries: Sequence[Mapping[str, float]], rounds: Sequence[Mapping[str, float]] = ()
) -> Calibration:
    """Ranges from the signals of benign `queries` and retrieval `rounds` (names as in `signals`).

    Without rounds the retrieval ranges are those of `DEFAULT`.

    Raises:
        ConfigError: fewer than `MIN_ROUNDS` queries, or rounds where there are any.
    """
    if len(queries) < MIN_ROUNDS or 0 < len(rounds) < MIN_ROUNDS:
        raise ConfigError(
            f"calibration needs at least {MIN_ROUNDS} benign queries (and rounds, if any), "
            f"got {len(queries)} queries and {len(rounds)} rounds"
        )
    ranges = {name: _range(queries, name) for name in QUERY_SIGNALS}
    if rounds:
        ranges.update({name: _range(rounds, name) for name in RETRIEVAL_SIGNALS})
    else:
        ranges.update({name: DEFAULT.ranges.get(name) for name in RETRIEVAL_SIGNALS})
    known = {name: found for name, found in ranges.items() if found is not None}
    return Calibration(n_queries=len(queries), n_rounds=len(rounds), ranges=known)


def save(calibration: Calibration, path: Path) -> None:
    """Write `calibration` as JSON, whole or not at all."""
    write_atomic(path, json.dumps(calibration.model_dump(mode="json"), indent=1) + "\n")


def read(path: Path) -> Calibration:
    """The calibration in the JSON file `path`.

    Raises:
        DataError: missing or not JSON. ConfigError: a wrong key or range.
    """
    try:
        values = json.loads(path.read_text(encoding="utf-8"))
    except FileNotFoundError:
        raise DataError(f"{path}: no such calibration; make one with scr ado calibrate") from None
    except (OSError, ValueError) as error:
        raise DataError(f"{path}: not a calibration file: {error}") from None
    if not isinstance(values, dict):
        raise DataError(f"{path}: not a calibration file: must hold a JSON object")
    return parse(Calibration, values, str(path))


def _range(records: Sequence[Mapping[str, float]], name: str) -> Range | None:
    values = [record[name] for record in records if name in record]
    if not values:
        return None
    lower, median, upper = np.quantile(values, [_LOWER, 0.5, _UPPER])
    return Range(lower=float(lower), median=float(median), upper=float(upper))


# For a deployment that has not calibrated yet: what 120 questions each of nq, hotpotqa, pubmedqa and
# medquad filled together, with the embedded encoder and ten sources; speed and the graph's are set wide.
DEFAULT = Calibration(
    ranges={
        "overlap": Range(lower=0.0, median=0.04, upper=0.68),
        "complexity": Range(lower=0.0, median=0.018, upper=0.11),
        "velocity": Range(lower=0.0, median=1.0, upper=8.0),
        "length": Range(lower=5.0, median=10.0, upper=28.0),
        "blanks": Range(lower=0.0, median=0.0, upper=0.0),
        "extraction": Range(lower=0.0, median=0.0, upper=0.0),
        "membership": Range(lower=0.0, median=0.0, upper=0.0),
        "instruction": Range(lower=0.0, median=0.0, upper=0.0),
        "dispersion": Range(lower=0.0013, median=0.0017, upper=0.0022),
        "drop_off": Range(lower=0.036, median=0.2, upper=0.53),
        "tightness": Range(lower=0.4, median=0.7, upper=0.91),
        "question_echo": Range(lower=0.0, median=0.14, upper=0.67),
        "quoted": Range(lower=0.0, median=0.0, upper=0.26),
        "credibility_spread": Range(lower=0.0, median=0.05, upper=0.15),
        "disagreement": Range(lower=0.0, median=0.1, upper=0.25),
    }
)
