"""Leaves no trace of removed documents in what is ours: database, log, vectors, embedding cache.

What is asked for is noted in the database first, so that a crash in between is made good by the next
writer. Not in reach: blocks that the file system freed, and copies that others made.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Iterable
from pathlib import Path

from core.embedding.cache import VectorStore
from core.errors import StoreError
from core.paths import cache_dir
from core.text import content_hash

REINDEX = "reindex.f32"


def ask(db: sqlite3.Connection) -> None:
    """Note that a purge is due."""
    with db:
        db.execute("INSERT OR REPLACE INTO state VALUES ('purge', 'due')")


def is_due(db: sqlite3.Connection) -> bool:
    """Whether a purge was asked for and not finished."""
    return db.execute("SELECT 1 FROM state WHERE key = 'purge'").fetchone() is not None


def finish(folder: Path, db: sqlite3.Connection) -> None:
    """Rewrite the database without its gaps, empty its log, and blank the vectors of a running re-index.

    Raises:
        StoreError: a reader keeps the log from being emptied.
    """
    _blank_reindexed(folder, db)
    db.execute("VACUUM")  # secure_delete leaves copies of cells that moved within their page
    busy = db.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchone()[0]
    if busy:
        raise StoreError(
            f"{folder}: removed, but a reader keeps traces of it in the database's log; run this again"
        )
    with db:
        db.execute("DELETE FROM state WHERE key = 'purge'")


def _blank_reindexed(folder: Path, db: sqlite3.Connection) -> None:
    stale = "SELECT place FROM reindexed WHERE row NOT IN (SELECT row FROM documents)"
    dimension = db.execute("SELECT value FROM state WHERE key = 'reindex_dimension'").fetchone()
    with db:
        db.execute("BEGIN IMMEDIATE")  # a re-index adds its vectors under the same right to write
        places = [place for (place,) in db.execute(stale)]
        if places and dimension and (folder / REINDEX).exists():
            size = int(dimension[0]) * 4
            with (folder / REINDEX).open("r+b") as file:
                for place in places:
                    file.seek(place * size)
                    file.write(bytes(size))
        db.execute("DELETE FROM reindexed WHERE row NOT IN (SELECT row FROM documents)")


def forget_cached(texts: Iterable[str]) -> None:
    """Delete the vectors of `texts` from the embedding cache, if this machine has one."""
    path = cache_dir() / "embeddings.sqlite"
    if path.exists():
        cache = VectorStore(path)
        cache.forget([content_hash(text) for text in texts])
        cache.close()
