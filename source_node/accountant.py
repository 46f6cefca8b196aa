"""Who has spent how much privacy budget: one SQLite file, charged before an answer leaves.

Spending composes by addition (basic composition): q answers at ε cost q·ε, whoever carries them. The
sum lives on disk and in whole nano-ε, charges rounded up, so that no crash, restart, new connection,
race or rounding can give any of it back.
"""

from __future__ import annotations

import math
import sqlite3
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from core.errors import BudgetError, ConfigError, StoreError

_NANO = 1_000_000_000
_VERSION = 1
_SCHEMA = """
CREATE TABLE IF NOT EXISTS spent (
    requester TEXT PRIMARY KEY, nano INTEGER NOT NULL CHECK (nano >= 0),
    charges INTEGER NOT NULL, refusals INTEGER NOT NULL, updated REAL NOT NULL
) WITHOUT ROWID;
"""
ANONYMOUS = "(anonymous)"


@dataclass(frozen=True, slots=True)
class Account:
    """What one requester has spent (ε), in how many charges, and how often it was refused."""

    requester: str
    spent: float
    charges: int
    refusals: int
    updated: float


class Accountant:
    """The ledger of one institution; safe for threads and for processes that share the file.

    Callers without an identity share one account. Lowering `budget` later refuses who is above it.

    Args:
        path: SQLite file, made if missing.
        budget: ε that each requester may spend in all, > 0. It is never refilled: privacy loss does
            not heal with time.
        clock: Unix time, for the operator's listing only.
        budget_of: the budget of one requester where it is not `budget`; None there leaves it `budget`.

    Raises:
        ConfigError: `budget` is not a finite number above 0.
        StoreError: the file is no ledger, or of another version. A node must not serve without one.
    """

    def __init__(
        self,
        path: Path,
        budget: float,
        clock: Callable[[], float] = time.time,
        budget_of: Callable[[str], float | None] | None = None,
    ) -> None:
        if not (math.isfinite(budget) and budget > 0):
            raise ConfigError(f"privacy budget must be a finite epsilon above 0, not {budget}")
        self.path = path
        self.budget = budget
        self._clock = clock
        self._budget_of = budget_of
        self._lock = threading.Lock()
        path.parent.mkdir(parents=True, exist_ok=True)
        try:
            self._db = sqlite3.connect(path, timeout=30, isolation_level=None, check_same_thread=False)
            self._db.execute("PRAGMA journal_mode=WAL")
            # a charge must survive power loss too: the answer leaves right after it
            self._db.execute("PRAGMA synchronous=FULL")
            version = self._db.execute("PRAGMA user_version").fetchone()[0]
            if version not in (0, _VERSION):
                raise StoreError(
                    f"{path}: privacy ledger of version {version}, this program reads {_VERSION}"
                )
            self._db.executescript(f"BEGIN IMMEDIATE; {_SCHEMA} PRAGMA user_version={_VERSION}; COMMIT;")
        except (sqlite3.Error, OSError) as error:
            raise StoreError(f"{path}: not a usable privacy ledger ({error})") from None

    def charge(self, requester: str, epsilon: float) -> float:
        """Spend `epsilon` of `requester`'s budget; returns what is left. On return it is on disk.

        Raises:
            BudgetError: not enough is left; nothing is spent.
            ConfigError: `epsilon` is not a finite number above 0.
            StoreError: the ledger cannot be written; the caller must not answer.
        """
        if not (math.isfinite(epsilon) and epsilon > 0):
            raise ConfigError(f"epsilon must be a finite number above 0, not {epsilon}")
        name = requester or ANONYMOUS
        cost = math.ceil(epsilon * _NANO)
        with self._lock:
            try:
                return self._charge(name, cost) / _NANO
            except sqlite3.Error as error:
                if self._db.in_transaction:
                    self._db.rollback()
                raise StoreError(f"{self.path}: the privacy ledger cannot be written ({error})") from None

    def budget_for(self, requester: str) -> float:
        """ε that `requester` may spend in all."""
        own = None if self._budget_of is None else self._budget_of(requester)
        return self.budget if own is None else own

    def _charge(self, name: str, cost: int) -> int:
        now, budget = self._clock(), self.budget_for(name)
        limit = math.floor(budget * _NANO)
        # IMMEDIATE: the right to write is taken before the balance is read
        self._db.execute("BEGIN IMMEDIATE")
        self._db.execute("INSERT OR IGNORE INTO spent VALUES (?, 0, 0, 0, ?)", (name, now))
        (spent,) = self._db.execute("SELECT nano FROM spent WHERE requester=?", (name,)).fetchone()
        enough = spent + cost <= limit
        if enough:
            change = (
                "UPDATE spent SET nano = nano + ?, charges = charges + 1, updated = ? WHERE requester = ?"
            )
            self._db.execute(change, (cost, now, name))
        else:
            self._db.execute("UPDATE spent SET refusals = refusals + 1 WHERE requester = ?", (name,))
        self._db.execute("COMMIT")
        if not enough:
            raise BudgetError(
                f"privacy budget of {name!r}: {spent / _NANO:g} of {budget:g} is spent, "
                f"{cost / _NANO:g} more was asked"
            )
        return int(limit - spent - cost)

    def spent(self, requester: str) -> float:
        """ε that `requester` has spent so far."""
        with self._lock:
            row = self._db.execute(
                "SELECT nano FROM spent WHERE requester=?", (requester or ANONYMOUS,)
            ).fetchone()
        return 0.0 if row is None else row[0] / _NANO

    def accounts(self, limit: int = 1000) -> list[Account]:
        """Up to `limit` accounts, the largest spenders first."""
        with self._lock:
            rows = self._db.execute(
                "SELECT requester, nano, charges, refusals, updated FROM spent"
                " ORDER BY nano DESC, requester LIMIT ?",
                (limit,),
            ).fetchall()
        return [Account(name, nano / _NANO, *rest) for name, nano, *rest in rows]

    def close(self) -> None:
        """Close the file."""
        with self._lock:
            self._db.close()
