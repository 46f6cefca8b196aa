"""Waiting for the operator."""

from __future__ import annotations

import signal

import pytest

from core.signals import stop_asked


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_a_signal_sets_the_event_and_the_old_handler_comes_back(number: signal.Signals) -> None:
    before = signal.getsignal(number)
    with stop_asked() as asked:
        assert not asked.is_set()
        signal.raise_signal(number)
        assert asked.wait(30)
    assert signal.getsignal(number) is before
