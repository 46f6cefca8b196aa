"""Decides for every request whether its caller may ask now, by the policy of the moment."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from typing import NamedTuple

from core.errors import AccessError, OverloadError
from source_node.access.policy import AccessPolicy, CallerRule, Rate
from source_node.accountant import ANONYMOUS


class Admitted(NamedTuple):
    """A caller as the policy writes its name, and what it may do."""

    name: str
    rule: CallerRule


class TokenBucket:
    """Holds up to `burst` tokens, filled at `per_second`; not safe for threads by itself."""

    def __init__(self, rate: Rate, now: float) -> None:
        self.rate = rate
        self._tokens = float(rate.burst)
        self._filled = now

    def take(self, now: float) -> bool:
        """Take one token; False where there is none. Time that runs backwards fills nothing."""
        passed = max(now - self._filled, 0.0)
        self._filled = max(now, self._filled)
        self._tokens = min(self._tokens + passed * self.rate.per_second, float(self.rate.burst))
        if self._tokens < 1.0:
            return False
        self._tokens -= 1.0
        return True


class Admission:
    """Applies a policy; safe for threads.

    Args:
        policy: gives the policy of the moment (`core.watched.Watched.get`, for a file).
        clock: seconds that only run forwards.
    """

    def __init__(
        self, policy: Callable[[], AccessPolicy], clock: Callable[[], float] = time.monotonic
    ) -> None:
        self._policy = policy
        self._clock = clock
        self._lock = threading.Lock()
        self._buckets: dict[str, TokenBucket] = {}

    def admit(self, caller: str) -> Admitted:
        """What `caller` (empty: no identity) may do now.

        Raises:
            AccessError: the policy does not name it. OverloadError: it asks more often than it may.
        """
        found = self._find(caller or ANONYMOUS)
        if found is None:
            raise AccessError(f"caller {caller or ANONYMOUS!r} is not in the policy")
        rate = found.rule.rate
        if rate is not None:
            with self._lock:
                bucket = self._buckets.get(found.name)
                if bucket is None or bucket.rate != rate:
                    bucket = self._buckets[found.name] = TokenBucket(rate, self._clock())
                if not bucket.take(self._clock()):
                    raise OverloadError(f"caller {found.name!r} asks more often than {rate.per_second:g}/s")
        return found

    def epsilon_budget(self, caller: str) -> float | None:
        """The privacy budget that the policy gives `caller`; None leaves it the node's own."""
        found = self._find(caller)
        return None if found is None else found.rule.epsilon_budget

    def any_budget(self) -> bool:
        """Whether the policy gives any caller a privacy budget."""
        return any(rule.epsilon_budget is not None for rule in self._policy().callers.values())

    def _find(self, caller: str) -> Admitted | None:
        callers = self._policy().callers
        if caller in callers:
            return Admitted(caller, callers[caller])
        lowered = caller.lower()
        return next((Admitted(name, rule) for name, rule in callers.items() if name.lower() == lowered), None)
