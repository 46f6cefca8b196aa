from __future__ import annotations

import logging

import pytest

from core.clock_watch import ClockWatch


def test_a_step_is_told_once_and_drift_is_not(caplog: pytest.LogCaptureFixture) -> None:
    now = {"wall": 1000.0, "steady": 5.0}
    watch = ClockWatch(5.0, lambda: now["wall"], lambda: now["steady"])
    with caplog.at_level(logging.WARNING):
        now["wall"] += 100.0
        now["steady"] += 98.0
        assert watch.look() == 0.0
        now["wall"] -= 3600.0
        assert watch.look() == pytest.approx(-3598.0)
        assert watch.look() == 0.0
    assert caplog.messages == ["the system clock was stepped by -3598.0 s"]
    assert ClockWatch().look() == 0.0
