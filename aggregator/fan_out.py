"""One question to all sources at once; replies and failures come back as data (Byzantine rule 3)."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from aggregator.source_client import SourceClient
from core.errors import ConfigError
from core.records import NodeDescription, PrivacyRequest, Query, SourceFailure, SourceReply
from core.tls import TlsFiles


@dataclass(frozen=True)
class Gathered:
    """What one fan-out brought: replies and failures, each in the fixed order of the sources."""

    replies: tuple[SourceReply, ...]
    failures: tuple[SourceFailure, ...] = ()
    milliseconds: float = 0.0


class FanOut:
    """A fixed list of sources that are asked together.

    Args:
        clients: one per source; their order is the order of replies.
        deadline_s: seconds for a whole fan-out; None leaves each client its own.

    Raises:
        ConfigError: two clients of one source, or a deadline that is not above 0.
    """

    def __init__(self, clients: Sequence[SourceClient], deadline_s: float | None = None) -> None:
        ids = [client.source_id for client in clients]
        for source in ids:
            if ids.count(source) > 1:
                raise ConfigError(f"source {source!r} is named twice")
        if deadline_s is not None and not deadline_s > 0:
            raise ConfigError(f"the deadline must be above 0 seconds, not {deadline_s}")
        self.clients = tuple(clients)
        self.source_ids = tuple(ids)
        self.deadline_s = deadline_s

    @classmethod
    def connect(
        cls, sources: Mapping[str, str], tls: TlsFiles | None = None, deadline_s: float = 5.0
    ) -> FanOut:
        """A fan-out to `sources` (id -> HOST:PORT).

        Raises:
            ConfigError: bad address, deadline or TLS files.
        """
        return cls([SourceClient(source, at, tls, deadline_s) for source, at in sources.items()], deadline_s)

    def gather(self, query: Query, top_k: int, privacy: PrivacyRequest | None = None) -> Gathered:
        """Ask every source for its `top_k` best documents; ends with the slowest or at the deadline.

        Raises:
            WireError: the question or `top_k` is out of bounds.
        """
        start = time.perf_counter()
        # all calls are on their way before the first result is awaited
        calls = [client.start(query, top_k, self.deadline_s, privacy) for client in self.clients]
        results = [call.result() for call in calls]
        return Gathered(
            replies=tuple(result for result in results if isinstance(result, SourceReply)),
            failures=tuple(result for result in results if isinstance(result, SourceFailure)),
            milliseconds=1000 * (time.perf_counter() - start),
        )

    def describe(self) -> tuple[NodeDescription | SourceFailure, ...]:
        """What every source says of itself, or why it does not answer."""
        calls = [client.start_describe(self.deadline_s) for client in self.clients]
        return tuple(call.result() for call in calls)

    def close(self) -> None:
        """Close every channel."""
        for client in self.clients:
            client.close()
