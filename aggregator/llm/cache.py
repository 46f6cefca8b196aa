"""Answers of language models on disk, keyed by everything that they depend on."""

from __future__ import annotations

import json
import sqlite3
import threading
from pathlib import Path
from typing import Any

from core.errors import StoreError
from core.text import content_hash


def request_key(request: Any) -> str:
    """The key of `request` (anything that JSON can hold): equal requests have equal keys."""
    return content_hash(json.dumps(request, sort_keys=True, ensure_ascii=False, separators=(",", ":")))


class ResponseCache:
    """JSON values by key in SQLite; safe for threads and processes, a crash loses no finished write.

    Args:
        path: the file; None keeps the values in memory.

    Raises:
        StoreError: the file is not such a cache.
    """

    def __init__(self, path: Path | None) -> None:
        self.path = path
        self._lock = threading.Lock()
        try:
            if path is not None:
                path.parent.mkdir(parents=True, exist_ok=True)
            self._db = sqlite3.connect(path or ":memory:", timeout=60, check_same_thread=False)
            self._db.execute("PRAGMA journal_mode=WAL")
            self._db.execute("PRAGMA synchronous=NORMAL")
            self._db.execute(
                "CREATE TABLE IF NOT EXISTS responses (key TEXT PRIMARY KEY, value TEXT) WITHOUT ROWID"
            )
            self._db.commit()
        except sqlite3.Error as error:
            raise StoreError(f"{path}: not a usable response cache ({error}); delete it") from None

    def get(self, key: str) -> Any:
        """The value stored under `key`, or None."""
        with self._lock:
            row = self._db.execute("SELECT value FROM responses WHERE key=?", (key,)).fetchone()
        return None if row is None else json.loads(row[0])

    def put(self, key: str, value: Any) -> None:
        """Store `value`; the first value stored under a key stays."""
        with self._lock:
            self._db.execute("INSERT OR IGNORE INTO responses VALUES (?,?)", (key, json.dumps(value)))
            self._db.commit()

    def close(self) -> None:
        """Close the file."""
        with self._lock:
            self._db.close()
