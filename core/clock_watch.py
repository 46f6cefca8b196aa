"""Notices when somebody steps the system clock: times in logs and stores are then not what they seem."""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable

_LOG = logging.getLogger(__name__)


class ClockWatch:
    """Compares the wall clock with the monotonic one at every `look`; safe for threads.

    Args:
        tolerance_s: smaller differences are the daily work of a time service.
        wall, steady: both clocks, in seconds.
    """

    def __init__(
        self,
        tolerance_s: float = 5.0,
        wall: Callable[[], float] = time.time,
        steady: Callable[[], float] = time.monotonic,
    ) -> None:
        self._tolerance = tolerance_s
        self._wall = wall
        self._steady = steady
        self._lock = threading.Lock()
        self._ahead = wall() - steady()

    def look(self) -> float:
        """Seconds by which the wall clock was stepped since the last look, 0 for none; a step is logged."""
        with self._lock:
            ahead = self._wall() - self._steady()
            step = ahead - self._ahead
            if abs(step) < self._tolerance:
                return 0.0
            self._ahead = ahead
        _LOG.warning("the system clock was stepped by %+.1f s", step)
        return step
