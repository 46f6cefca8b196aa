"""The tables of a store, and how an older store becomes one of today.

Format 1 had no chunks: every document stood alone. Format 2 knows of each row the document that it was
cut from, remembers what was withdrawn, and how far a re-index has come.
"""

from __future__ import annotations

import sqlite3
from pathlib import Path

from core.errors import StoreError

FORMAT = 2
_TABLES = """
CREATE TABLE IF NOT EXISTS documents (
    row INTEGER PRIMARY KEY AUTOINCREMENT, doc_id TEXT NOT NULL, hash TEXT NOT NULL, text TEXT NOT NULL,
    title TEXT NOT NULL, category TEXT, added INTEGER NOT NULL, removed INTEGER, parent TEXT);
CREATE UNIQUE INDEX IF NOT EXISTS live ON documents (doc_id) WHERE removed IS NULL;
CREATE INDEX IF NOT EXISTS families ON documents (parent) WHERE removed IS NULL;
CREATE INDEX IF NOT EXISTS removals ON documents (removed) WHERE removed IS NOT NULL;
CREATE INDEX IF NOT EXISTS additions ON documents (added);
CREATE TABLE IF NOT EXISTS embedder (name TEXT, identity TEXT, dimension INTEGER);
CREATE TABLE IF NOT EXISTS withdrawn (key TEXT PRIMARY KEY) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS state (key TEXT PRIMARY KEY, value TEXT NOT NULL) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS reindexed (row INTEGER PRIMARY KEY, place INTEGER NOT NULL);
"""


def check_format(found: object, path: Path) -> None:
    """Nothing, if a store of format `found` can be used.

    Raises:
        StoreError: it is newer than this program, or no format at all.
    """
    if isinstance(found, int) and found > FORMAT:
        raise StoreError(
            f"{path}: store of format {found}, this version reads up to {FORMAT}; upgrade securecollarag"
        )
    if not isinstance(found, int) or isinstance(found, bool) or found < 1:
        raise StoreError(f"{path}: store of format {found!r} is unknown; ingest into a new folder")


def prepare(db: sqlite3.Connection, path: Path) -> None:
    """Make the tables where they are missing and bring older ones up to `FORMAT`, in one transaction.

    Raises:
        StoreError: the tables are of a newer format.
    """
    db.execute("PRAGMA journal_mode=WAL")
    db.execute("PRAGMA synchronous=FULL")
    db.execute("PRAGMA secure_delete=ON")  # what is deleted is overwritten, in free pages too
    found = db.execute("PRAGMA user_version").fetchone()[0]
    if found == FORMAT:
        return
    if found:
        check_format(found, path)
    columns = {row[1] for row in db.execute("PRAGMA table_info(documents)")}
    upgrade = ""
    if columns and "parent" not in columns:
        upgrade = "ALTER TABLE documents ADD COLUMN parent TEXT; UPDATE documents SET parent = doc_id;"
    db.executescript(f"BEGIN IMMEDIATE; {upgrade} {_TABLES} PRAGMA user_version={FORMAT}; COMMIT;")
