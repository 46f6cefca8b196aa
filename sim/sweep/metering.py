"""What a language model costs in a sweep whose cells ask it the same things again and again.

An answer is made once and kept on disk with the time that making it took; a cell that asks for it again
is charged that time without waiting for it. So a sweep is quick and its cells are comparable, whichever
of them came first.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from aggregator.llm.cache import ResponseCache, request_key
from core.llm import LLM, Capability, Completion, Message


@dataclass
class Meter:
    """Calls since the last `take`, and the seconds that they cost beyond the processor time spent here."""

    calls: int = 0
    seconds: float = 0.0

    def take(self) -> tuple[int, float]:
        """The totals, which start anew."""
        found = self.calls, self.seconds
        self.calls, self.seconds = 0, 0.0
        return found


class MeteredLLM:
    """`inner` with a memory of answers and their cost; what it cannot count it hands through.

    A local model's cost is processor time, a server's is the time that it takes to answer.

    Args:
        inner: the back end.
        memory: where answers are kept.
        meter: where calls are counted.
    """

    def __init__(self, inner: LLM, memory: ResponseCache, meter: Meter) -> None:
        self.inner = inner
        self.name = inner.name
        self.capabilities: frozenset[Capability] = inner.capabilities
        self.meter = meter
        self._memory = memory
        self._local = hasattr(inner, "local")

    def __getattr__(self, name: str) -> Any:
        return getattr(self.__dict__["inner"], name)

    def complete(
        self,
        messages: Sequence[Message],
        *,
        max_tokens: int = 128,
        temperature: float = 0.0,
        seed: int | None = None,
    ) -> Completion:
        """The model's next turn."""

        def ask() -> dict[str, Any]:
            done = self.inner.complete(messages, max_tokens=max_tokens, temperature=temperature, seed=seed)
            return {"text": done.text, "given": done.prompt_tokens, "made": done.completion_tokens}

        request = {
            "turns": [(message.role, message.content) for message in messages],
            "max_tokens": max_tokens,
            "temperature": temperature,
            "seed": seed if temperature else None,
        }
        found = self._remember("complete", request, ask)
        return Completion(found["text"], found["given"], found["made"])

    def log_likelihood(self, prompt: str, continuations: Sequence[str]) -> NDArray[np.float64]:
        """Mean log-probability per token of each continuation after `prompt`; (n,)."""
        scoring: Any = self.inner
        request = {"prompt": prompt, "continuations": list(continuations)}

        def ask() -> dict[str, Any]:
            return {"scores": [float(score) for score in scoring.log_likelihood(prompt, continuations)]}

        return np.array(self._remember("log_likelihood", request, ask)["scores"], dtype=np.float64)

    def attention_to(self, prompt: str, spans: Sequence[tuple[int, int]]) -> NDArray[np.float64]:
        """Attention of the generated answer to each character span of `prompt`; (n,)."""
        reading: Any = self.inner
        request = {"prompt": prompt, "spans": [list(span) for span in spans]}

        def ask() -> dict[str, Any]:
            return {"shares": [float(share) for share in reading.attention_to(prompt, spans)]}

        return np.array(self._remember("attention_to", request, ask)["shares"], dtype=np.float64)

    def _remember(
        self, method: str, request: dict[str, Any], ask: Callable[[], dict[str, Any]]
    ) -> dict[str, Any]:
        identity = getattr(self.inner, "identity", self.inner.name)
        key = request_key({"format": 1, "model": identity, "method": method, **request})
        self.meter.calls += 1
        spent = 0.0
        found: dict[str, Any] | None = self._memory.get(key)
        if found is None:
            start, busy = time.perf_counter(), time.process_time()
            found = ask()
            spent = time.process_time() - busy
            found["seconds"] = spent if self._local else time.perf_counter() - start
            self._memory.put(key, found)
        self.meter.seconds += max(0.0, found["seconds"] - spent)
        return found
