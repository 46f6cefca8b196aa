"""Adds a corpus to a store: resumable by content hash, incremental, visible only when complete.

Every batch is committed as staged (for the generation after the current one): vectors first, then
documents, so that a committed document always has its vector. The end of an ingest puts the vectors
in place, swaps the manifest, and only then cleans up; until then readers see the old generation.
"""

from __future__ import annotations

import fcntl
import os
import sqlite3
from collections.abc import Callable, Iterable, Iterator
from contextlib import closing, contextmanager
from dataclasses import dataclass
from itertools import islice
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from core.embedding.base import Embedder
from core.errors import DataError, StoreError
from core.paths import write_atomic
from core.records import Document
from core.text import content_hash
from source_node.index import checked_vectors, searchable
from source_node.store import DATABASE, MANIFEST, VISIBLE, Manifest, map_vectors, read_manifest

STAGED = "staged.f32"
_LOOKUP = 500  # ids a query: below SQLite's limit of bound variables
_COPY_ROWS = 16_384
_SCHEMA = """
CREATE TABLE IF NOT EXISTS documents (
    row INTEGER PRIMARY KEY AUTOINCREMENT, doc_id TEXT NOT NULL, hash TEXT NOT NULL, text TEXT NOT NULL,
    title TEXT NOT NULL, category TEXT, added INTEGER NOT NULL, removed INTEGER);
CREATE UNIQUE INDEX IF NOT EXISTS live ON documents (doc_id) WHERE removed IS NULL;
CREATE INDEX IF NOT EXISTS removals ON documents (removed) WHERE removed IS NOT NULL;
CREATE INDEX IF NOT EXISTS additions ON documents (added);
CREATE TABLE IF NOT EXISTS embedder (name TEXT, identity TEXT, dimension INTEGER);
"""


@dataclass(frozen=True)
class IngestReport:
    """What an ingest did, in documents; `total` is what the store holds now."""

    new: int
    changed: int
    unchanged: int
    removed: int
    total: int


def ingest(
    documents: Iterable[Document],
    folder: Path | str,
    embedder: Embedder | None,
    *,
    embedder_name: str | None = None,
    prune: bool = False,
    batch: int = 512,
    progress: Callable[[int], None] = lambda done: None,
) -> IngestReport:
    """Bring the store in `folder` up to `documents`; run again after a crash, it goes on.

    Args:
        documents: distinct ids; a known id with other content replaces what was there.
        folder: the store, made if missing.
        embedder: makes the vectors; None makes a store for lexical retrieval only.
        embedder_name: by which name `core.embedding.open_embedder` finds the embedder again.
        prune: also remove documents that are not among `documents`.
        batch: documents embedded and committed at once.
        progress: called with the number of documents looked at, after each batch.

    Raises:
        StoreError: another ingest is running, the store is unusable, or it has another embedder.
        DataError: `documents` is empty, or what reading them raised; what came before stays staged.
    """
    folder = Path(folder)
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise StoreError(f"{folder}: cannot be a store folder ({error.strerror})") from None
    with _only_writer(folder):
        manifest = read_manifest(folder)
        try:
            with closing(sqlite3.connect(folder / DATABASE, timeout=30)) as db:
                run = _Run(folder, db, manifest, embedder, embedder_name)
                run.add(documents, batch, prune, progress)
                return run.finish(prune)
        except sqlite3.Error as error:
            raise StoreError(f"{folder / DATABASE}: cannot be written ({error})") from None
        except OSError as error:
            raise StoreError(f"{folder}: cannot be written ({error.strerror})") from None


def embedder_of(folder: Path | str) -> str | None:
    """The name of the embedder that the store in `folder` was made with, also by an unfinished ingest.

    `none` for a store without vectors, None where there is no store yet.
    """
    path = Path(folder) / DATABASE
    if not path.exists():
        return None
    try:
        with closing(sqlite3.connect(path, timeout=30)) as db:
            known = db.execute("SELECT name, identity FROM embedder").fetchone()
    except sqlite3.OperationalError:  # an ingest that crashed before its first table
        return None
    except sqlite3.DatabaseError as error:
        raise StoreError(f"{path}: not a usable document database ({error})") from None
    if known is None:
        return None
    name, identity = known
    return "none" if identity is None else name


class _Run:
    """One ingest under the lock; `next` is the generation that it makes."""

    def __init__(
        self,
        folder: Path,
        db: sqlite3.Connection,
        manifest: Manifest | None,
        embedder: Embedder | None,
        embedder_name: str | None,
    ) -> None:
        self.folder, self.db, self.manifest, self.embedder = folder, db, manifest, embedder
        self.current = manifest.generation if manifest else 0
        self.next = self.current + 1
        self.new = self.changed = self.unchanged = 0
        db.execute("PRAGMA journal_mode=WAL")
        db.execute("PRAGMA synchronous=FULL")
        db.executescript(_SCHEMA)
        self._settle_embedder(embedder_name)
        self._restore()
        staged = self._rows("added = ?", self.next)
        self._open_staged(len(staged))
        self.unseen = set(self._rows("added = ? AND removed IS NULL", self.next).tolist())

    def _settle_embedder(self, name: str | None) -> None:
        ours = (name, self.embedder.identity, self.embedder.dimension) if self.embedder else (None, None, 0)
        known = self.db.execute("SELECT name, identity, dimension FROM embedder").fetchone()
        if known is None:
            with self.db:
                self.db.execute("INSERT INTO embedder VALUES (?,?,?)", ours)
        elif known[1:] != ours[1:]:
            theirs, given = (identity or "no embedder" for identity in (known[1], ours[1]))
            raise StoreError(
                f"{self.folder}: was made with {theirs}, not with {given}; "
                "use the same embedder or a new folder"
            )
        self.name = known[0] if known else name

    def _restore(self) -> None:
        """Take back removals that an unfinished ingest left without a document in their place."""
        with self.db:
            self.db.execute(
                "UPDATE documents SET removed = NULL WHERE removed = ? AND added <= ? AND doc_id NOT IN"
                " (SELECT doc_id FROM documents WHERE added = ? AND removed IS NULL)",
                (self.next, self.current, self.next),
            )

    def _open_staged(self, count: int) -> None:
        """Cut the staged vectors to the documents that were committed with them."""
        if self.embedder is None:
            return
        path = self.folder / STAGED
        path.touch()
        size = count * self.embedder.dimension * 4
        if path.stat().st_size < size:
            raise StoreError(
                f"{path}: {path.stat().st_size} bytes where {size} are due; ingest into a new folder"
            )
        os.truncate(path, size)

    def add(
        self, documents: Iterable[Document], batch: int, prune: bool, progress: Callable[[int], None]
    ) -> None:
        """Stage what is new or changed, batch by batch."""
        if prune:
            self.unseen.update(self._rows("removed IS NULL").tolist())
        stream, done = iter(documents), 0
        while group := list(islice(stream, batch)):
            self._add_batch(group)
            done += len(group)
            progress(done)
        if not done:
            raise DataError(f"no documents to ingest into {self.folder}")

    def _add_batch(self, group: list[Document]) -> None:
        known = self._known([document.doc_id for document in group])
        fresh: list[tuple[Document, str]] = []
        replaced: list[int] = []
        for document in group:
            digest = content_hash("\x1f".join((document.title, document.category or "", document.text)))
            row, old = known.get(document.doc_id, (None, None))
            self.unseen.discard(row or 0)
            if old == digest:
                self.unchanged += 1
                continue
            fresh.append((document, digest))
            if row is None:
                self.new += 1
            else:
                self.changed += 1
                replaced.append(row)
        if not fresh:
            return
        if self.embedder is not None:
            vectors = checked_vectors(self.embedder, [searchable(document) for document, _ in fresh])
            with (self.folder / STAGED).open("ab") as staged:
                staged.write(vectors.astype("<f4").tobytes())
                staged.flush()
                os.fsync(staged.fileno())
        try:
            with self.db:
                self._remove(replaced)
                self.db.executemany(
                    "INSERT INTO documents (doc_id, hash, text, title, category, added) VALUES (?,?,?,?,?,?)",
                    [(d.doc_id, digest, d.text, d.title, d.category, self.next) for d, digest in fresh],
                )
        except sqlite3.IntegrityError:
            raise DataError("one document id stands on several documents of a batch") from None

    def _known(self, ids: list[str]) -> dict[str, tuple[int, str]]:
        found: dict[str, tuple[int, str]] = {}
        for start in range(0, len(ids), _LOOKUP):
            chunk = ids[start : start + _LOOKUP]
            marks = ",".join("?" * len(chunk))
            query = f"SELECT doc_id, row, hash FROM documents WHERE removed IS NULL AND doc_id IN ({marks})"  # noqa: S608
            found.update((doc_id, (row, digest)) for doc_id, row, digest in self.db.execute(query, chunk))
        return found

    def _remove(self, rows: Iterable[int]) -> None:
        self.db.executemany(
            "UPDATE documents SET removed = ? WHERE row = ?", [(self.next, row) for row in rows]
        )

    def _rows(self, where: str, *values: int) -> NDArray[np.int64]:
        query = f"SELECT row FROM documents WHERE {where} ORDER BY row"  # noqa: S608
        return np.fromiter((row for (row,) in self.db.execute(query, values)), dtype=np.int64)

    def finish(self, prune: bool) -> IngestReport:
        """Make what was staged the current generation; nothing happens where nothing changed."""
        pruned = len(self.unseen.intersection(self._rows("added <= ?", self.current).tolist()))
        with self.db:  # pruned, or staged by an earlier, unfinished ingest of something else
            self._remove(sorted(self.unseen))
        if not prune:
            self._restore()
        total = len(self._rows("removed IS NULL"))
        removals = len(self._rows("removed = ? AND added <= ?", self.next, self.current))
        additions = len(self._rows("added = ? AND removed IS NULL", self.next))
        if removals or additions:
            swapped = self._manifest(total, appending=not removals)
            write_atomic(self.folder / MANIFEST, swapped.model_dump_json(indent=2) + "\n")
            _sync_folder(self.folder)
            self._clean_up(swapped)
        return IngestReport(self.new, self.changed, self.unchanged, pruned, total)

    def _manifest(self, total: int, *, appending: bool) -> Manifest:
        if self.embedder is None:
            return Manifest(generation=self.next, n_documents=total)
        return Manifest(
            generation=self.next,
            n_documents=total,
            embedder=self.name,
            identity=self.embedder.identity,
            dimension=self.embedder.dimension,
            vectors=self._place_vectors(self.embedder.dimension, appending=appending),
        )

    def _place_vectors(self, dimension: int, *, appending: bool) -> str:
        """Write the vectors of the next generation; returns the name of their file."""
        sources: list[tuple[NDArray[np.float32], NDArray[np.intp]]] = []
        old = map_vectors(self.folder, self.manifest) if self.manifest else None
        if old is None or self.manifest is None or self.manifest.vectors is None:
            name, mode, start = f"vectors-{self.next}.f32", "w+b", 0
        elif appending:
            name, mode, start = self.manifest.vectors, "r+b", old.nbytes
        else:
            name, mode, start = f"vectors-{self.next}.f32", "w+b", 0
            was = self._rows(VISIBLE, self.current, self.current)
            sources.append((old, np.flatnonzero(np.isin(was, self._rows("removed IS NULL")))))
        staged_rows = self._rows("added = ?", self.next)
        if len(staged_rows):
            staged = np.memmap(self.folder / STAGED, "<f4", "r", shape=(len(staged_rows), dimension))
            sources.append((staged, np.flatnonzero(np.isin(staged_rows, self._rows("removed IS NULL")))))
        with (self.folder / name).open(mode) as file:
            file.truncate(start)
            file.seek(start)
            for matrix, rows in sources:
                for first in range(0, len(rows), _COPY_ROWS):
                    file.write(matrix[rows[first : first + _COPY_ROWS]].tobytes())
            file.flush()
            os.fsync(file.fileno())
        return name

    def _clean_up(self, swapped: Manifest) -> None:
        """Drop what neither this generation nor the one before it needs."""
        keep = {swapped.vectors, self.manifest.vectors if self.manifest else None}
        for path in self.folder.glob("vectors-*.f32"):
            if path.name not in keep:
                path.unlink()
        (self.folder / STAGED).unlink(missing_ok=True)
        with self.db:
            self.db.execute("DELETE FROM documents WHERE removed <= ?", (self.current,))


@contextmanager
def _only_writer(folder: Path) -> Iterator[None]:
    with (folder / ".lock").open("w") as lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            raise StoreError(f"{folder}: another ingest is writing to this store") from None
        yield


def _sync_folder(folder: Path) -> None:
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
