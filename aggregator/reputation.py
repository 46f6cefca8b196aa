"""What the aggregator remembers of each source between rounds, in one crash-safe SQLite file."""

from __future__ import annotations

import logging
import math
import sqlite3
import threading
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

from core.database import Database
from core.errors import ConfigError

_LOG = logging.getLogger(__name__)
_VERSION = 1
_SCHEMA = """
CREATE TABLE IF NOT EXISTS sources (
    id TEXT PRIMARY KEY, smoothed REAL NOT NULL, previous REAL NOT NULL, verified REAL
) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS states (name TEXT PRIMARY KEY, state BLOB NOT NULL) WITHOUT ROWID;
"""


class Reputation:
    """Reliability of every source, by exponential smoothing (SCR Eq. 13) and by the verifier's own view.

    Safe for threads and, with a path, for processes: every update is one transaction, and a crash
    leaves the state before it or after it. Use `exclusive` around a read that an update depends on.

    Args:
        path: SQLite file, made if missing; None keeps everything in memory.
        start: reliability of a source that was never judged, in [0,1] (the paper says 0.5 in one
            place and 1 in another).
        momentum: weight beta of the past in Eq. 13, in [0,1).

    Raises:
        ConfigError: `start` or `momentum` is out of range.
        StoreError: the file is not a reputation, or one of another version.
    """

    def __init__(self, path: Path | None = None, start: float = 0.5, momentum: float = 0.9) -> None:
        if not 0.0 <= start <= 1.0:
            raise ConfigError(f"reputation: start must lie in [0,1], not {start}")
        if not 0.0 <= momentum < 1.0:
            raise ConfigError(f"reputation: momentum must lie in [0,1), not {momentum}")
        self.path = path
        self.start = start
        self.momentum = momentum
        self.unstored = 0
        self._frozen = threading.local()
        self._db = Database(path, _SCHEMA, "reputation", _VERSION)

    def reliability(self, source_ids: Iterable[str]) -> dict[str, float]:
        """Reliability in [0,1]: the verifier's value where the last update gave one, else the smoothed."""
        return self._read("COALESCE(verified, smoothed)", source_ids)

    def smoothed(self, source_ids: Iterable[str]) -> dict[str, float]:
        """Eq. 13's value after the last update that touched the source."""
        return self._read("smoothed", source_ids)

    def previous(self, source_ids: Iterable[str]) -> dict[str, float]:
        """Eq. 13's value before that update."""
        return self._read("previous", source_ids)

    def state(self, name: str) -> bytes | None:
        """What a stage stored under `name` with its last update."""
        row = self._db.row("SELECT state FROM states WHERE name=?", (name,))
        return None if row is None else bytes(row[0])

    def update(
        self,
        means: Mapping[str, float],
        reliability: Mapping[str, float] | None = None,
        states: Mapping[str, bytes] | None = None,
    ) -> None:
        """Take in one round, all of it or nothing; on return it is on disk.

        Where the disk does not take it (it is full, say), nothing has changed, the log says so and
        `unstored` counts it: what the round concluded must not depend on the disk.

        Args:
            means: mean credibility of each source's documents in this round, in [0,1]; a source
                that gave nothing is left out and keeps its value.
            reliability: the verifier's own view in [0,1], of these or other sources.
            states: what stages keep for the next round.

        Raises:
            ValueError: a number is not finite or outside [0,1]; nothing is written.
        """
        verified = dict(reliability or {})
        for source, value in [*means.items(), *verified.items()]:
            if not (math.isfinite(value) and 0.0 <= value <= 1.0):
                raise ValueError(f"reputation of {source!r}: {value} is outside [0,1]")
        if getattr(self._frozen, "depth", 0):
            return
        try:
            with self.exclusive():
                self._store(means, verified, states or {})
        except sqlite3.Error as error:
            self.unstored += 1
            _LOG.error("%s: an update of the reputation could not be stored: %s", self.path, error)

    def _store(
        self, means: Mapping[str, float], verified: Mapping[str, float], states: Mapping[str, bytes]
    ) -> None:
        touched = {**means, **verified}
        before = self.smoothed(touched)
        earlier = self.previous(touched)
        rows = []
        for source in touched:
            old, new = before[source], before[source]
            if source in means:
                earlier[source] = old
                new = self.momentum * old + (1.0 - self.momentum) * float(means[source])
            rows.append((source, new, earlier[source], verified.get(source)))
        self._db.write_all("INSERT OR REPLACE INTO sources VALUES (?,?,?,?)", rows)
        self._db.write_all("INSERT OR REPLACE INTO states VALUES (?,?)", list(states.items()))

    @contextmanager
    def exclusive(self) -> Iterator[None]:
        """Hold the only right to update, for a read whose result the next `update` depends on.

        Nests; what was updated inside is undone where the block raises.
        """
        with self._db.transaction():
            yield

    @contextmanager
    def frozen(self) -> Iterator[None]:
        """Ignore this thread's updates: for judging documents whose origin nobody vouches for."""
        self._frozen.depth = getattr(self._frozen, "depth", 0) + 1
        try:
            yield
        finally:
            self._frozen.depth -= 1

    def close(self) -> None:
        """Close the file; the reputation cannot be used afterwards."""
        self._db.close()

    def _read(self, column: str, source_ids: Iterable[str]) -> dict[str, float]:
        query = f"SELECT {column} FROM sources WHERE id=?"  # noqa: S608 - one of three of ours
        with self._db.lock:
            rows = {source: self._db.row(query, (source,)) for source in source_ids}
        return {source: self.start if row is None else float(row[0]) for source, row in rows.items()}
