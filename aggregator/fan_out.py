"""One question to all sources at once; replies and failures come back as data (Byzantine rule 3)."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Literal

from aggregator.breaker import BreakerState, CircuitBreaker
from aggregator.calls import CallPolicy, Source, ask_all
from aggregator.source_client import SourceClient
from core.errors import ConfigError
from core.records import NodeDescription, PrivacyRequest, Query, SourceFailure, SourceReply
from core.tls import TlsFiles
from core.wire import to_retrieve_request

_PATIENCE_S = 5.0  # a fan-out that is given no deadline

SourceState = Literal["active", "draining", "drained"]


@dataclass(frozen=True)
class Gathered:
    """What one fan-out brought: replies and failures, each in the fixed order of the sources."""

    replies: tuple[SourceReply, ...]
    failures: tuple[SourceFailure, ...] = ()
    milliseconds: float = 0.0


@dataclass(frozen=True)
class SourceStanding:
    """A source in the pool: whether it is asked, and how it did in the last rounds.

    `state`: active; draining (asked no more, running rounds go on); drained. `in_flight` counts running
    rounds, `failures` failed rounds in a row, `last_failure` is the kind of the last one.
    """

    source_id: str
    address: str
    state: SourceState
    circuit: BreakerState
    in_flight: int
    failures: int
    last_failure: str


class _Member:
    """A source and what the pool knows of it; changed under the pool's lock."""

    def __init__(self, client: Source, policy: CallPolicy) -> None:
        self.client = client
        self.breaker = CircuitBreaker(policy.breaker_failures, policy.breaker_reset_s)
        self.drained = False
        self.removed = False
        self.in_flight = 0


class FanOut:
    """The sources that are asked together; they may come and go while questions run.

    Args:
        clients: one per source; their order is the order of replies.
        deadline_s: seconds for a whole fan-out; None takes the clients' own where they have one, else 5.
        policy: retries, hedges and circuit breakers; None asks once, whatever happened before.

    Raises:
        ConfigError: two clients of one source, or a deadline that is not above 0.
    """

    def __init__(
        self, clients: Sequence[Source], deadline_s: float | None = None, policy: CallPolicy | None = None
    ) -> None:
        if deadline_s is not None and not deadline_s > 0:
            raise ConfigError(f"the deadline must be above 0 seconds, not {deadline_s}")
        self.deadline_s = deadline_s
        self.policy = policy or CallPolicy()
        self._lock = threading.Lock()
        self._members: dict[str, _Member] = {}
        for client in clients:
            self.add(client)

    @classmethod
    def connect(
        cls,
        sources: Mapping[str, str],
        tls: TlsFiles | None = None,
        deadline_s: float = 5.0,
        policy: CallPolicy | None = None,
    ) -> FanOut:
        """A fan-out to `sources` (id -> HOST:PORT).

        Raises:
            ConfigError: bad address, deadline or TLS files.
        """
        clients = [SourceClient(source, at, tls, deadline_s) for source, at in sources.items()]
        return cls(clients, deadline_s, policy)

    # --- who is asked ---------------------------------------------------------------------------

    @property
    def clients(self) -> tuple[Source, ...]:
        """Every source, drained ones too."""
        with self._lock:
            return tuple(member.client for member in self._members.values())

    @property
    def source_ids(self) -> tuple[str, ...]:
        """Ids of the sources that the next question is asked of, open circuits included."""
        with self._lock:
            return tuple(source for source, member in self._members.items() if not member.drained)

    def add(self, client: Source) -> None:
        """Ask this source too, from the next question on.

        Raises:
            ConfigError: a source of that id is there already.
        """
        with self._lock:
            if client.source_id in self._members:
                raise ConfigError(f"source {client.source_id!r} is named twice")
            self._members[client.source_id] = _Member(client, self.policy)

    def drain(self, source_id: str) -> None:
        """Ask this source no more; running rounds keep its answers.

        Raises:
            ConfigError: no source of that id.
        """
        with self._lock:
            self._member(source_id).drained = True

    def resume(self, source_id: str) -> None:
        """Ask a drained source again.

        Raises:
            ConfigError: no source of that id.
        """
        with self._lock:
            self._member(source_id).drained = False

    def remove(self, source_id: str) -> None:
        """Forget this source; its connection ends with the last running round that asked it.

        Raises:
            ConfigError: no source of that id.
        """
        with self._lock:
            member = self._member(source_id)
            del self._members[source_id]
            member.removed = True
            idle = not member.in_flight
        if idle:
            member.client.close()

    def standing(self) -> tuple[SourceStanding, ...]:
        """Every source in the pool, drained ones too."""
        with self._lock:
            members = list(self._members.values())
            return tuple(
                SourceStanding(
                    member.client.source_id,
                    member.client.address,
                    "active" if not member.drained else "draining" if member.in_flight else "drained",
                    member.breaker.state,
                    member.in_flight,
                    member.breaker.in_a_row,
                    member.breaker.last,
                )
                for member in members
            )

    # --- asking ---------------------------------------------------------------------------------

    def gather(
        self,
        query: Query,
        top_k: int,
        privacy: PrivacyRequest | None = None,
        deadline_s: float | None = None,
    ) -> Gathered:
        """Ask every source for its `top_k` best documents; ends with the slowest or at the deadline.

        `deadline_s` may shorten the pool's own deadline. A source whose circuit is open is not asked: its
        failure is `circuit_open`.

        Raises:
            WireError: the question or `top_k` is out of bounds.
        """
        start = time.perf_counter()
        to_retrieve_request(query, top_k, privacy)  # the asker's fault is told before anybody is asked
        with self._borrowed() as members:
            closed = [member for member in members if member.breaker.allow()]
            try:
                found = ask_all(
                    [member.client for member in closed],
                    query,
                    top_k,
                    self._seconds(deadline_s),
                    privacy,
                    self.policy,
                )
            except BaseException:
                for member in closed:
                    member.breaker.left()
                raise
            for member, result in zip(closed, found, strict=True):
                if isinstance(result, SourceReply) or result.kind == "refused":
                    member.breaker.replied()
                else:
                    member.breaker.failed(result.kind)
            asked = {member.client.source_id: result for member, result in zip(closed, found, strict=True)}
            results = [asked.get(member.client.source_id) or _not_asked(member) for member in members]
        return Gathered(
            replies=tuple(result for result in results if isinstance(result, SourceReply)),
            failures=tuple(result for result in results if isinstance(result, SourceFailure)),
            milliseconds=1000 * (time.perf_counter() - start),
        )

    def describe(self) -> tuple[NodeDescription | SourceFailure, ...]:
        """What every source says of itself, or why it does not answer; in the order of `clients`."""
        return tuple(found for _, found in self.survey())

    def survey(self) -> tuple[tuple[SourceStanding, NodeDescription | SourceFailure], ...]:
        """Every source's standing, and what it says of itself now."""
        standing = {each.source_id: each for each in self.standing()}  # before it counts as a round itself
        with self._borrowed(drained=True) as members:
            calls = [(m.client.source_id, m.client.start_describe(self.deadline_s)) for m in members]
            found = [(source, call.result()) for source, call in calls]
        return tuple((standing[source], result) for source, result in found if source in standing)

    def close(self) -> None:
        """Close every connection."""
        for client in self.clients:
            client.close()

    def _seconds(self, asked: float | None) -> float:
        own = self.deadline_s
        if own is None:
            own = max((getattr(c, "deadline_s", _PATIENCE_S) for c in self.clients), default=_PATIENCE_S)
        return own if asked is None else min(own, asked)

    def _member(self, source_id: str) -> _Member:
        try:
            return self._members[source_id]
        except KeyError:
            known = ", ".join(self._members) or "none"
            raise ConfigError(f"no source {source_id!r} here; known: {known}") from None

    @contextmanager
    def _borrowed(self, drained: bool = False) -> Iterator[list[_Member]]:
        """The sources of one round: none of their connections is closed before its end."""
        with self._lock:
            members = [member for member in self._members.values() if drained or not member.drained]
            for member in members:
                member.in_flight += 1
        try:
            yield members
        finally:
            with self._lock:
                for member in members:
                    member.in_flight -= 1
                done = [member for member in members if member.removed and not member.in_flight]
            for member in done:
                member.client.close()


def _not_asked(member: _Member) -> SourceFailure:
    why = f"not asked after {member.breaker.in_a_row} failures in a row, the last: {member.breaker.last}"
    return SourceFailure(member.client.source_id, "circuit_open", why)
