"""The global trust score of each user (ADO section 4.3.1, Eq. 3), on disk, bounded, crash-safe.

S <- clip(S + d_pre + d_post, 0, 1) with d in [-0.1, 0.1]. A suspicious pass costs up to `loss`, a clean
one earns at most `gain`, twenty-five times less: an attacker who spreads probes over many queries
loses unless fewer than about gain / (gain + loss) of the queries are probes.
"""

from __future__ import annotations

import sqlite3
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from pydantic import Field

from core.config import StrictModel
from core.database import Database
from core.errors import StoreError

_SCHEMA = """
CREATE TABLE IF NOT EXISTS trust (
    user_id TEXT PRIMARY KEY, score REAL NOT NULL CHECK (score BETWEEN 0 AND 1),
    questions INTEGER NOT NULL, suspicious INTEGER NOT NULL, updated REAL NOT NULL
) WITHOUT ROWID;
CREATE INDEX IF NOT EXISTS trust_age ON trust (score, updated);
"""


class TrustConfig(StrictModel):
    """Start value (the paper's 0.5), and what one pass earns or costs (ours; NOT PUBLISHED).

    `knee` is the risk at which a pass neither earns nor costs. `max_users` bounds the store: beyond it
    the users of best score go first, longest unseen among equals, so nobody can wash a bad name away by
    flooding the store with new ones. `anonymous` is the fixed trust of callers without a name.
    """

    start: float = Field(default=0.5, ge=0, le=1)
    gain: float = Field(default=0.004, ge=0, le=0.1)
    loss: float = Field(default=0.1, ge=0, le=0.1)
    knee: float = Field(default=0.25, gt=0, lt=1)
    anonymous: float = Field(default=0.5, ge=0, le=1)
    max_users: int = Field(default=100_000, ge=1)


@dataclass(frozen=True, slots=True)
class TrustRecord:
    """One user's standing: score in [0,1], questions asked, questions that cost trust, Unix time."""

    user_id: str
    score: float
    questions: int
    suspicious: int
    updated: float


def delta(risk: float, config: TrustConfig) -> float:
    """What a pass of `risk` in [0,1] adds to trust, in [-loss, gain]: linear on either side of the knee."""
    if risk <= config.knee:
        return config.gain * (1.0 - risk / config.knee)
    return -config.loss * ((risk - config.knee) / (1.0 - config.knee))


class TrustStore:
    """Trust by user in SQLite (None: in memory); safe for threads and for several processes.

    An update is one transaction: after a crash the store holds the score before or after it; a power
    failure may take the last updates back. The file may be one that others keep tables of their own in.

    Raises:
        StoreError: the file is not a trust store.
    """

    def __init__(
        self,
        path: Path | None = None,
        config: TrustConfig | None = None,
        clock: Callable[[], float] = time.time,
    ) -> None:
        self.config = config or TrustConfig()
        self.path = path
        self._where = str(path) if path is not None else ":memory:"
        self._clock = clock
        # a question must not wait for the disk; what power loss may take is the last few steps of a score
        self._db = Database(path, _SCHEMA, "trust store", power_safe=False)
        (self._size,) = self._db.rows("SELECT count(*) FROM trust")[0]

    def __len__(self) -> int:
        return int(self._db.rows("SELECT count(*) FROM trust")[0][0])

    def score(self, user_id: str) -> float:
        """Trust of `user_id` in [0,1]; a new user has the start value, an anonymous one a fixed value."""
        if not user_id:
            return self.config.anonymous
        row = self._db.row("SELECT score FROM trust WHERE user_id=?", (user_id,))
        return float(row[0]) if row is not None else self.config.start

    def update(self, user_id: str, delta_pre: float, delta_post: float) -> float:
        """Apply Eq. 3 for one question of `user_id`; returns the new score.

        Each delta is clipped to [-0.1, 0.1]. Anonymous callers keep their fixed trust.

        Raises:
            StoreError: the store cannot be written.
        """
        if not user_id:
            return self.config.anonymous
        change = sum(min(0.1, max(-0.1, part)) for part in (delta_pre, delta_post))
        first = min(1.0, max(0.0, self.config.start + change))
        try:
            with self._db.transaction():
                score, questions = self._db.rows(
                    "INSERT INTO trust VALUES (?, ?, 1, ?, ?) ON CONFLICT (user_id) DO UPDATE SET"
                    " score = min(1.0, max(0.0, score + ?)), questions = questions + 1,"
                    " suspicious = suspicious + ?, updated = excluded.updated RETURNING score, questions",
                    (user_id, first, int(change < 0), self._clock(), change, int(change < 0)),
                )[0]
                if questions == 1:
                    self._size += 1
                    self._evict()
        except sqlite3.Error as error:
            raise StoreError(f"{self._where}: trust cannot be stored ({error})") from None
        return float(score)

    def put(self, user_id: str, score: float) -> None:
        """Set the score of `user_id`, in [0,1], as if it had been reached: for a run that goes on."""
        with self._db.transaction():
            self._db.write(
                "INSERT INTO trust VALUES (?, ?, 0, 0, ?)"
                " ON CONFLICT (user_id) DO UPDATE SET score = excluded.score",
                (user_id, min(1.0, max(0.0, score)), self._clock()),
            )
            (self._size,) = self._db.rows("SELECT count(*) FROM trust")[0]

    def listing(self, limit: int = 100, worst_first: bool = True) -> list[TrustRecord]:
        """Up to `limit` users, least trusted first (or most trusted first)."""
        columns = "SELECT user_id, score, questions, suspicious, updated FROM trust ORDER BY score"
        order = " ASC, user_id LIMIT ?" if worst_first else " DESC, user_id LIMIT ?"
        rows = self._db.rows(columns + order, (limit,))
        return [TrustRecord(*row) for row in rows]

    def reset(self, user_id: str | None = None) -> int:
        """Forget `user_id` (None: everybody); returns how many users were forgotten."""
        with self._db.transaction():
            if user_id is None:
                gone = self._db.write("DELETE FROM trust")
            else:
                gone = self._db.write("DELETE FROM trust WHERE user_id=?", (user_id,))
            self._size -= gone
            return gone

    def absorb(self, path: Path) -> int:
        """Take in the users of another trust store that are not known here; returns how many.

        Raises:
            StoreError: `path` is no trust store.
        """
        other = TrustStore(path, self.config, self._clock)
        try:
            records = other._db.rows("SELECT user_id, score, questions, suspicious, updated FROM trust")
        finally:
            other.close()
        before = len(self)
        with self._db.transaction():
            self._db.write_all("INSERT OR IGNORE INTO trust VALUES (?, ?, ?, ?, ?)", records)
            (self._size,) = self._db.rows("SELECT count(*) FROM trust")[0]
            return int(self._size) - before

    def close(self) -> None:
        self._db.close()

    def _evict(self) -> None:
        excess = self._size - self.config.max_users
        if excess <= 0:
            return
        (size,) = self._db.rows("SELECT count(*) FROM trust")[0]
        self._size = size  # other processes write too
        if size > self.config.max_users:
            self._size -= self._db.write(
                "DELETE FROM trust WHERE user_id IN"
                " (SELECT user_id FROM trust ORDER BY score DESC, updated ASC LIMIT ?)",
                (size - self.config.max_users,),
            )
