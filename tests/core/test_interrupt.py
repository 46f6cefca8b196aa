"""Ctrl-C in a process of its own: caught, or enforced where the interrupt is swallowed."""

from __future__ import annotations

import signal
import subprocess
import sys
import threading

import pytest

from core.interrupt import surely_interruptible

SWALLOWS = """
import time
from core.interrupt import surely_interruptible
with surely_interruptible({patience}, "last words"):
    for attempt in range(2):  # the first interrupt is lost, as in a callback of a C library
        try:
            if not attempt:
                print("ready", flush=True)
            time.sleep({sleep})
        except KeyboardInterrupt:
            print("swallowed", flush=True)
print("went on")
"""


def interrupted(patience: float, sleep: float) -> tuple[int, str, str]:
    script = SWALLOWS.format(patience=patience, sleep=sleep)
    process = subprocess.Popen(
        [sys.executable, "-c", script],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.default_int_handler),
    )
    assert process.stdout.readline() == "ready\n"
    process.send_signal(signal.SIGINT)
    out, err = process.communicate(timeout=60)
    return process.returncode, out, err


def test_a_swallowed_interrupt_ends_the_process_after_the_patience():
    status, out, err = interrupted(patience=0.2, sleep=50)
    assert status == 130
    assert out == "swallowed\n"
    assert err == "last words\n"


def test_work_that_ends_in_time_is_left_alone():
    status, out, err = interrupted(patience=50, sleep=0.3)
    assert status == 0
    assert out == "swallowed\nwent on\n"
    assert err == ""


def test_it_raises_keyboard_interrupt_and_restores_the_handler():
    before = signal.getsignal(signal.SIGINT)
    signal.signal(signal.SIGINT, signal.default_int_handler)
    try:
        with pytest.raises(KeyboardInterrupt), surely_interruptible(60):
            signal.raise_signal(signal.SIGINT)
        assert signal.getsignal(signal.SIGINT) is signal.default_int_handler
    finally:
        signal.signal(signal.SIGINT, before)


def test_in_another_thread_it_changes_nothing():
    seen = []

    def work() -> None:
        with surely_interruptible(60):
            seen.append(signal.getsignal(signal.SIGINT))

    before = signal.getsignal(signal.SIGINT)
    thread = threading.Thread(target=work)
    thread.start()
    thread.join()
    assert seen == [before]
