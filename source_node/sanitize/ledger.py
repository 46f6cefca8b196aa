"""Counts of identifiers taken out of what left, by kind, over all restarts; never what they were."""

from __future__ import annotations

import logging
import sqlite3
import threading
from collections import Counter
from collections.abc import Mapping
from pathlib import Path

from core.database import Database
from core.errors import StoreError

LEDGER = "removed.sqlite"
_LOG = logging.getLogger(__name__)
_SCHEMA = """
CREATE TABLE IF NOT EXISTS removed (kind TEXT PRIMARY KEY, count INTEGER NOT NULL) WITHOUT ROWID;
"""


class RemovedLedger:
    """Counts in a file; safe for threads and processes.

    A killed node loses none, a power failure may cost the last ones. Where the disk takes nothing, answers
    go on, the log says so once, and what was counted meanwhile is written with the next.

    Args:
        path: the file, made if missing.

    Raises:
        StoreError: it is none.
    """

    def __init__(self, path: Path) -> None:
        self._db = Database(path, _SCHEMA, "ledger of removed identifiers", version=1, power_safe=False)
        self._path = path
        self._lock = threading.Lock()
        self._waiting: Counter[str] = Counter()
        self._failing = False

    def add(self, counts: Mapping[str, int]) -> None:
        """Count `counts` more, by kind."""
        with self._lock:
            self._waiting.update(counts)
            try:
                with self._db.transaction():
                    self._db.write_all(
                        "INSERT INTO removed VALUES (?, ?)"
                        " ON CONFLICT (kind) DO UPDATE SET count = count + excluded.count",
                        sorted(self._waiting.items()),
                    )
            except sqlite3.Error as error:
                if not self._failing:
                    _LOG.error("%s: counts of removed identifiers cannot be written (%s)", self._path, error)
                self._failing = True
            else:
                self._waiting.clear()
                self._failing = False

    def totals(self) -> dict[str, int]:
        """Identifiers removed so far by kind, kinds sorted.

        Raises:
            StoreError: the file cannot be read.
        """
        try:
            return dict(self._db.rows("SELECT kind, count FROM removed ORDER BY kind"))
        except sqlite3.Error as error:
            raise StoreError(f"{self._path}: cannot be read ({error})") from None

    def close(self) -> None:
        """Close the file."""
        self._db.close()


def read_removed(store: Path) -> dict[str, int] | None:
    """What the node of the folder `store` has removed so far by kind; None: it never sanitized.

    Raises:
        StoreError: the ledger is there and cannot be read.
    """
    path = store / LEDGER
    if not path.exists():
        return None
    ledger = RemovedLedger(path)
    try:
        return ledger.totals()
    finally:
        ledger.close()
