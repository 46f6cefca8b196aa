"""A source that keeps failing is not asked for a while: rounds need not wait for it."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from typing import Literal

from core.errors import ConfigError

BreakerState = Literal["closed", "open", "half_open"]


class CircuitBreaker:
    """Opens after `failures` failed rounds in a row; then one round at a time may try again.

    Closed: every round may ask. Open: none, for `reset_s` seconds. Half-open: the next round asks as a
    probe, the others do not; a reply closes the breaker, a failure opens it again. Safe for threads.

    Args:
        failures: failed rounds in a row that open it; 0 never opens.
        reset_s: seconds until a probe.
        clock: seconds that never run backwards: a step of the wall clock must not matter.

    Raises:
        ConfigError: `failures` below 0 or `reset_s` not above 0.
    """

    def __init__(
        self, failures: int = 5, reset_s: float = 10.0, clock: Callable[[], float] = time.monotonic
    ) -> None:
        if failures < 0 or not reset_s > 0:
            raise ConfigError("circuit breaker: failures must be at least 0, reset_s above 0")
        self.failures = failures
        self.reset_s = reset_s
        self.in_a_row = 0
        self.last = ""
        self._clock = clock
        self._lock = threading.Lock()
        self._opened: float | None = None
        self._probing = False

    @property
    def state(self) -> BreakerState:
        """`closed`, `open`, or `half_open` where the next round is a probe or one is on its way."""
        with self._lock:
            if self._opened is None:
                return "closed"
            return "half_open" if self._probing or self._rested() else "open"

    def allow(self) -> bool:
        """Whether this round may ask; who is allowed must tell how it went (`replied`, `failed`, `left`)."""
        with self._lock:
            if self._opened is None:
                return True
            if self._probing or not self._rested():
                return False
            self._probing = True
            return True

    def replied(self) -> None:
        """The source answered (a refusal is an answer too)."""
        with self._lock:
            self._opened, self._probing, self.in_a_row, self.last = None, False, 0, ""

    def failed(self, kind: str) -> None:
        """The source gave nothing; `kind` says why."""
        with self._lock:
            self.in_a_row += 1
            self.last = kind
            if self._probing or (self.failures and self.in_a_row >= self.failures):
                self._opened = self._clock()
            self._probing = False

    def left(self) -> None:
        """The round ended without a result, so nothing was learned of the source."""
        with self._lock:
            self._probing = False

    def _rested(self) -> bool:
        return self._opened is not None and self._clock() - self._opened >= self.reset_s
