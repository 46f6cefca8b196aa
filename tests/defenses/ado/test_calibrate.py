"""Calibration: evidence is distance beyond what is normal here."""

from __future__ import annotations

from pathlib import Path

import pytest

from core.errors import ConfigError, DataError
from defenses.ado.calibrate import DEFAULT, Calibration, Range, calibrate, read, save
from defenses.ado.signals import RETRIEVAL_SIGNALS


def queries(n: int = 100, velocity: float = 0.0) -> list[dict[str, float]]:
    return [{"length": 5.0 + i % 10, "velocity": velocity, "overlap": 0.0} for i in range(n)]


def test_evidence_is_zero_inside_and_one_a_range_beyond() -> None:
    calibration = Calibration(ranges={"length": Range(lower=5, median=10, upper=20)})
    assert calibration.above("length", 20) == 0
    assert calibration.above("length", 25) == pytest.approx(0.5)
    assert calibration.above("length", 1000) == 1
    assert calibration.below("length", 5) == 0
    assert calibration.below("length", 1) == pytest.approx(0.5)  # the unit of length is 8
    assert calibration.above("length", None) == 0
    assert calibration.above("overlap", 1.0) == 0


def test_a_batch_job_makes_its_own_speed_normal() -> None:
    calm, batch = calibrate(queries(velocity=1.0)), calibrate(queries(velocity=8.7))
    assert calm.above("velocity", 8.7) == 1.0
    assert batch.above("velocity", 8.7) == 0.0


def test_without_rounds_retrieval_ranges_are_the_defaults() -> None:
    found = calibrate(queries())
    assert found.n_queries == 100
    assert found.n_rounds == 0
    assert all(found.ranges[name] == DEFAULT.ranges[name] for name in RETRIEVAL_SIGNALS)
    rounds = [{"drop_off": 0.1 + 0.001 * i} for i in range(50)]
    with_rounds = calibrate(queries(), rounds)
    assert with_rounds.ranges["drop_off"].median == pytest.approx(0.1245)
    assert "tightness" not in with_rounds.ranges


def test_too_little_traffic_is_refused() -> None:
    with pytest.raises(ConfigError, match="at least 20 benign queries"):
        calibrate(queries(19))


def test_file_round_trip_and_bad_files(tmp_path: Path) -> None:
    path = tmp_path / "ado" / "calibration.json"
    save(DEFAULT, path)
    assert read(path) == DEFAULT
    with pytest.raises(DataError, match="scr ado calibrate"):
        read(tmp_path / "none.json")
    path.write_text("[1]")
    with pytest.raises(DataError, match="JSON object"):
        read(path)
    path.write_text('{"ranges": {"speed": {"lower": 0, "median": 1, "upper": 2}}}')
    with pytest.raises(ConfigError, match="unknown signal 'speed'"):
        read(path)
    path.write_text('{"ranges": {"length": {"lower": 3, "median": 1, "upper": 2}}}')
    with pytest.raises(ConfigError, match="lower ≤ median ≤ upper"):
        read(path)
