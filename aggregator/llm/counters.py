"""What a language model has cost so far."""

from __future__ import annotations

import threading
from dataclasses import dataclass, field


@dataclass
class Counters:
    """Totals of one back end, safe for threads; `failures` counts the requests that ended in `LLMError`.

    `calls` are requests that reached the model (retries are counted apart), `cached` those that were
    answered without one. `cost` is in the currency of the given prices.
    """

    calls: int = 0
    cached: int = 0
    retries: int = 0
    failures: int = 0
    prompt_tokens: int = 0
    completion_tokens: int = 0
    cost: float = 0.0
    _lock: threading.Lock = field(default_factory=threading.Lock, repr=False, compare=False)

    def add(
        self,
        *,
        calls: int = 0,
        cached: int = 0,
        retries: int = 0,
        failures: int = 0,
        prompt_tokens: int = 0,
        completion_tokens: int = 0,
        cost: float = 0.0,
    ) -> None:
        """Add to the totals."""
        with self._lock:
            self.calls += calls
            self.cached += cached
            self.retries += retries
            self.failures += failures
            self.prompt_tokens += prompt_tokens
            self.completion_tokens += completion_tokens
            self.cost += cost

    def as_dict(self) -> dict[str, float]:
        """The totals by name."""
        with self._lock:
            return {key: value for key, value in vars(self).items() if not key.startswith("_")}
