"""Ctrl-C ends a command: politely at first, and surely after a while."""

from __future__ import annotations

import os
import signal
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType

INTERRUPTED = 130  # exit status of a command ended by Ctrl-C


@contextmanager
def surely_interruptible(patience_s: float, last_words: str = "scr: interrupted") -> Iterator[None]:
    """Meanwhile Ctrl-C raises KeyboardInterrupt, and ends the process where that leads to no end.

    KeyboardInterrupt can be lost in a callback of a C library, and clean-up can wait for a peer that is
    gone. For work whose files survive a kill at any moment; outside the main thread, and where SIGINT
    has been set to be ignored, it changes nothing.

    Args:
        patience_s: seconds from the first Ctrl-C to the end of the process, with status 130.
        last_words: written to stderr then.
    """
    before = signal.getsignal(signal.SIGINT)
    if threading.current_thread() is not threading.main_thread() or before is not signal.default_int_handler:
        yield
        return
    done = threading.Event()

    def watch() -> None:
        if not done.wait(patience_s):
            sys.stderr.write(last_words.rstrip("\n") + "\n")
            sys.stderr.flush()
            os._exit(INTERRUPTED)

    def interrupt(number: int, frame: FrameType | None) -> None:
        threading.Thread(target=watch, name="interrupt", daemon=True).start()
        raise KeyboardInterrupt

    signal.signal(signal.SIGINT, interrupt)
    try:
        yield
    finally:
        done.set()
        signal.signal(signal.SIGINT, before)
