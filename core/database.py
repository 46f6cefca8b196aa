"""One way to keep small state in SQLite: write-ahead log, full syncs, whole transactions or none.

Several kinds of state may share one file, each in tables of its own: open one `Database` for each kind.
"""

from __future__ import annotations

import sqlite3
import threading
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from core.errors import StoreError

_BUSY_S = 60  # another process or connection may hold the right to write this long


class Database:
    """A SQLite file (None: memory) for threads and processes; every write is one transaction on disk.

    What a `transaction` wrote is on disk when its block is left: `synchronous` is FULL. After a crash,
    a full disk or an exception the file holds the state before it. Each costs a flush of the disk.

    Args:
        path: the file, made if missing with its folders.
        schema: statements that make the tables where they are missing.
        what: name of the contents, for error messages.
        version: `user_version` of the file; None leaves that to the others who share it.
        power_safe: false spares the flush (`synchronous` is NORMAL): a killed process still loses
            nothing, a power failure may take the last transactions, whole ones.

    Raises:
        StoreError: the file is no database, or one of another version.
    """

    def __init__(
        self,
        path: Path | None,
        schema: str,
        what: str,
        version: int | None = None,
        *,
        power_safe: bool = True,
    ) -> None:
        self.path = path
        self.lock = threading.RLock()
        try:
            if path is not None:
                path.parent.mkdir(parents=True, exist_ok=True)
            self._db = sqlite3.connect(
                ":memory:" if path is None else path,
                timeout=_BUSY_S,
                isolation_level=None,
                check_same_thread=False,
            )
            self._db.execute("PRAGMA journal_mode=WAL")
            self._db.execute(f"PRAGMA synchronous={'FULL' if power_safe else 'NORMAL'}")
            found = self._db.execute("PRAGMA user_version").fetchone()[0]
            if version is not None and found not in (0, version):
                raise StoreError(f"{path}: {what} of version {found}, this program reads {version}")
            mark = "" if version is None else f" PRAGMA user_version={version};"
            self._db.executescript(f"BEGIN IMMEDIATE; {schema}{mark} COMMIT;")
        except (sqlite3.Error, OSError) as error:
            raise StoreError(f"{path}: not a usable {what} ({error}); move it away to start anew") from None

    def rows(self, query: str, values: Sequence[Any] = ()) -> list[tuple[Any, ...]]:
        """All rows of a SELECT, or of a statement that returns some."""
        with self.lock:
            return self._db.execute(query, values).fetchall()

    def row(self, query: str, values: Sequence[Any] = ()) -> tuple[Any, ...] | None:
        """The first row of a SELECT, None where there is none."""
        with self.lock:
            found: tuple[Any, ...] | None = self._db.execute(query, values).fetchone()
        return found

    def write(self, statement: str, values: Sequence[Any] = ()) -> int:
        """Run one statement inside `transaction`; returns how many rows it touched."""
        return self._db.execute(statement, values).rowcount

    def write_all(self, statement: str, values: Iterable[Sequence[Any]]) -> None:
        """Run one statement for each of `values` inside `transaction`."""
        self._db.executemany(statement, values)

    @contextmanager
    def transaction(self) -> Iterator[None]:
        """Hold the only right to write; what was written is undone where the block or the disk fails.

        Nests: an inner block belongs to the outer transaction.

        Raises:
            sqlite3.Error: the disk is full or the file cannot be written; nothing was.
        """
        with self.lock:
            if self._db.in_transaction:
                yield
                return
            self._db.execute("BEGIN IMMEDIATE")
            try:
                yield
                self._db.execute("COMMIT")
            except BaseException:
                if self._db.in_transaction:  # SQLite may have rolled back by itself
                    self._db.execute("ROLLBACK")
                raise

    def close(self) -> None:
        """Close the file; it cannot be used afterwards."""
        with self.lock:
            self._db.close()
