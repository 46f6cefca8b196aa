"""What the aggregator needs of a source, and how one round asks many: retries and hedges within a deadline.

One thread waits for whatever comes first: a reply, a failure, the time of a retry or of a hedge, or the
deadline. Nothing here blocks on a single source.
"""

from __future__ import annotations

import heapq
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from queue import Empty, SimpleQueue
from typing import Protocol, TypeVar

from core.errors import ConfigError
from core.records import NodeDescription, PrivacyRequest, Query, SourceFailure, SourceReply

_Record = TypeVar("_Record", covariant=True)

# only what is gone by itself is tried again: a source that judged, lied or was too slow is not
RETRIED = frozenset({"unavailable", "overloaded"})


class Call(Protocol[_Record]):
    """A call on its way to a source."""

    def result(self) -> _Record | SourceFailure:
        """Wait for its end, at most until its deadline."""
        ...

    def add_done_callback(self, tell: Callable[[], None]) -> None:
        """Have `tell` called, on any thread, once `result` will not wait; at once where that is so."""
        ...

    def cancel(self) -> None:
        """Give the call up; it ends as a failure."""
        ...


class Source(Protocol):
    """A source as the aggregator asks it, however it is reached."""

    @property
    def source_id(self) -> str:
        """Who is asked."""
        ...

    @property
    def address(self) -> str:
        """Where, for the operator."""
        ...

    def start(
        self,
        query: Query,
        top_k: int,
        deadline_s: float | None = None,
        privacy: PrivacyRequest | None = None,
    ) -> Call[SourceReply]:
        """Send the question and return at once."""
        ...

    def start_describe(self, deadline_s: float | None = None) -> Call[NodeDescription]:
        """Ask the source what it is and return at once."""
        ...

    def close(self) -> None:
        """End the connection; running calls end as failures."""
        ...


@dataclass(frozen=True)
class CallPolicy:
    """How hard a round tries. The defaults ask once.

    `retries`: further attempts after `unavailable` or `overloaded`, the first after `backoff_s` seconds,
    each next one after twice the time. `hedge_after_s`: a source that has not answered by then is asked
    a second time, and the first answer counts; None never does. A request for privacy is sent once: each
    attempt may cost budget. `breaker_failures`, `breaker_reset_s`: see `CircuitBreaker`; 0 for none.

    Raises:
        ConfigError: a number is out of range.
    """

    retries: int = 0
    backoff_s: float = 0.1
    hedge_after_s: float | None = None
    breaker_failures: int = 0
    breaker_reset_s: float = 10.0

    def __post_init__(self) -> None:
        if self.retries < 0 or self.backoff_s < 0:
            raise ConfigError("retries and their backoff must be at least 0")
        if self.hedge_after_s is not None and self.hedge_after_s <= 0:
            raise ConfigError(f"a hedge must come after more than 0 seconds, not {self.hedge_after_s}")


def ask_all(
    sources: Sequence[Source],
    query: Query,
    top_k: int,
    deadline_s: float,
    privacy: PrivacyRequest | None = None,
    policy: CallPolicy | None = None,
) -> list[SourceReply | SourceFailure]:
    """Ask `sources` together; one result each, in their order, `deadline_s` seconds from now at the latest.

    Raises:
        WireError: the question or `top_k` is out of bounds.
    """
    policy = CallPolicy() if policy is None or privacy is not None else policy
    return _Round(sources, query, top_k, deadline_s, privacy, policy).run()


class _Round:
    """The state of one `ask_all`; only its own thread changes it."""

    def __init__(
        self,
        sources: Sequence[Source],
        query: Query,
        top_k: int,
        deadline_s: float,
        privacy: PrivacyRequest | None,
        policy: CallPolicy,
    ) -> None:
        self._sources = sources
        self._ask = (query, top_k)
        self._privacy = privacy
        self._policy = policy
        self._end = time.perf_counter() + deadline_s
        self._calls: list[list[Call[SourceReply]]] = [[] for _ in sources]
        self._retried = [0] * len(sources)
        self._found: dict[int, SourceReply | SourceFailure] = {}
        self._last: dict[int, SourceFailure] = {}  # what an attempt brought while another may do better
        self._done: SimpleQueue[tuple[int, Call[SourceReply]]] = SimpleQueue()
        self._timers: list[tuple[float, int, bool]] = []  # when, whom, whether it is a hedge

    def run(self) -> list[SourceReply | SourceFailure]:
        try:
            for index in range(len(self._sources)):
                self._start(index)
                if self._policy.hedge_after_s is not None:
                    self._later(self._policy.hedge_after_s, index, hedge=True)
            while len(self._found) < len(self._sources):
                wait = min([self._end, *(due for due, _, _ in self._timers[:1])]) - time.perf_counter()
                try:
                    self._take(*self._done.get(timeout=max(wait, 0.0)))
                except Empty:
                    if time.perf_counter() >= self._end:
                        break
                self._fire()
            return [self._result(index) for index in range(len(self._sources))]
        finally:
            for index, calls in enumerate(self._calls):
                if not isinstance(self._found.get(index), SourceReply):
                    _cancel(calls)

    def _start(self, index: int) -> None:
        left = max(self._end - time.perf_counter(), 0.001)
        call = self._sources[index].start(*self._ask, left, self._privacy)
        self._calls[index].append(call)
        call.add_done_callback(lambda: self._done.put((index, call)))

    def _later(self, seconds: float, index: int, *, hedge: bool) -> bool:
        """Note a further attempt, unless it would come after the deadline."""
        due = time.perf_counter() + seconds
        if due >= self._end:
            return False
        heapq.heappush(self._timers, (due, index, hedge))
        return True

    def _fire(self) -> None:
        """Make the attempts whose time has come."""
        while self._timers and self._timers[0][0] <= time.perf_counter() < self._end:
            _, index, hedge = heapq.heappop(self._timers)
            waiting = bool(self._calls[index])
            if index not in self._found and waiting is hedge:  # a hedge goes beside a call, a retry after it
                self._start(index)

    def _take(self, index: int, call: Call[SourceReply]) -> None:
        """An attempt has ended: the first reply of a source is its answer, all else of it is dropped."""
        if index in self._found:
            return
        self._calls[index].remove(call)
        result = call.result()
        if isinstance(result, SourceReply):
            self._found[index] = result
            _cancel(self._calls[index])
            return
        self._last[index] = result
        if self._calls[index]:
            return
        if result.kind in RETRIED and self._retried[index] < self._policy.retries:
            pause = self._policy.backoff_s * 2 ** self._retried[index]
            if self._later(pause, index, hedge=False):
                self._retried[index] += 1
                return
        self._found[index] = result

    def _result(self, index: int) -> SourceReply | SourceFailure:
        late = SourceFailure(self._sources[index].source_id, "deadline", "no reply in time")
        return self._found.get(index) or self._last.get(index) or late


def _cancel(calls: Sequence[Call[SourceReply]]) -> None:
    for call in calls:
        call.cancel()
