"""The sources as an operator left them: what was added, drained or removed outlives a restart."""

from __future__ import annotations

import sqlite3
import time
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from core.database import Database
from core.errors import StoreError

RosterState = Literal["active", "drained", "removed"]
_SCHEMA = """
CREATE TABLE IF NOT EXISTS roster (
    source_id TEXT PRIMARY KEY, address TEXT,
    state TEXT NOT NULL CHECK (state IN ('active', 'drained', 'removed')), changed REAL NOT NULL
) WITHOUT ROWID;
"""


@dataclass(frozen=True)
class Listed:
    """A source to be dialled, and whether it is drained."""

    address: str
    drained: bool = False


class Roster:
    """An operator's changes to the configured sources, in the aggregator's own SQLite file.

    Args:
        path: the file; None keeps changes as long as the process.

    Raises:
        StoreError: the file is no database.
    """

    def __init__(self, path: Path | None = None) -> None:
        self.persistent = path is not None
        self._where = path
        self._db = Database(path, _SCHEMA, "roster of sources")

    def note(self, source_id: str, state: RosterState, address: str | None = None) -> None:
        """Remember a change; without an address the source keeps the one it had.

        Raises:
            StoreError: it could not be stored; nothing has changed.
        """
        try:
            with self._db.transaction():
                self._db.write(
                    "INSERT INTO roster VALUES (?, ?, ?, ?) ON CONFLICT (source_id) DO UPDATE SET"
                    " address = COALESCE(excluded.address, address), state = excluded.state,"
                    " changed = excluded.changed",
                    (source_id, address, state, time.time()),
                )
        except sqlite3.Error as error:
            raise StoreError(f"{self._where}: the roster cannot be written ({error})") from None

    def apply(self, configured: Mapping[str, str]) -> dict[str, Listed]:
        """The configured sources (id -> HOST:PORT) with all changes on top: the operator's word is newer."""
        listed = {source: Listed(address) for source, address in configured.items()}
        for source, address, state in self._db.rows("SELECT source_id, address, state FROM roster"):
            known = address or configured.get(source)
            if state == "removed" or known is None:
                listed.pop(source, None)
            else:
                listed[source] = Listed(known, state == "drained")
        return listed

    def close(self) -> None:
        """Close the file."""
        self._db.close()
