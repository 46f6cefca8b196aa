"""The one writer of a store: holds its lock, repairs what a crash left, makes the next generation.

Every change follows one order: vectors and rows are staged for the generation after the current one,
the manifest is swapped, and only then what nobody needs is deleted. A crash before the swap leaves the
old generation; a crash after it leaves deletions, which the next writer finishes first.
"""

from __future__ import annotations

import fcntl
import os
import sqlite3
from collections.abc import Iterable, Iterator
from contextlib import closing, contextmanager, suppress
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from core.embedding.base import Embedder, Vectors
from core.errors import StoreError
from core.paths import write_atomic
from source_node import purge
from source_node.schema import prepare
from source_node.store import DATABASE, MANIFEST, VISIBLE, Manifest, map_vectors, read_manifest

STAGED = "staged.f32"
_COPY_ROWS = 16_384
Rows = NDArray[np.int64]


class StoreWriter:
    """A store under its lock; `current` is the generation that readers see, `next` the one being made."""

    def __init__(self, folder: Path, db: sqlite3.Connection, manifest: Manifest | None) -> None:
        self.folder, self.db, self.manifest = folder, db, manifest
        self.current = manifest.generation if manifest else 0
        self.next = self.current + 1
        with db:  # what a withdrawal moved out of its way (see `step_aside`) but did not finish
            db.execute("UPDATE documents SET added = ? WHERE added > ?", (self.next, self.next))
            db.execute("UPDATE documents SET removed = ? WHERE removed > ?", (self.next, self.next))
        self.restore()
        self._part_staged()
        if purge.is_due(db):
            self._delete(keep=manifest.vectors if manifest else None, thorough=True)

    def _part_staged(self) -> None:
        """Give up the second name of vectors that are published already (see `_linked`)."""
        staged = self.folder / STAGED
        published = self.folder / ((self.manifest and self.manifest.vectors) or STAGED)
        if published != staged and staged.exists() and published.exists() and staged.samefile(published):
            staged.unlink()

    def embedder(self) -> tuple[str | None, str | None, int] | None:
        """(name, identity, dimension) of what made the vectors, identity None where there are none.

        None where no ingest has begun. The manifest decides: a re-index swaps it first.
        """
        if self.manifest is not None:
            return self.manifest.embedder, self.manifest.identity, self.manifest.dimension
        found: tuple[str | None, str | None, int] | None = self.db.execute(
            "SELECT name, identity, dimension FROM embedder"
        ).fetchone()
        return found

    def settle_embedder(self, embedder: Embedder | None, name: str | None) -> str | None:
        """Bind a new store to `embedder`; returns the name by which the store knows it.

        Raises:
            StoreError: the store was made with another.
        """
        ours = (name, embedder.identity, embedder.dimension) if embedder else (None, None, 0)
        known = self.embedder()
        if known is None:
            self.write_embedder(ours)
            return name
        if known[1:] != ours[1:]:
            theirs, given = (identity or "no embedder" for identity in (known[1], ours[1]))
            raise StoreError(
                f"{self.folder}: was made with {theirs}, not with {given}; "
                "use the same embedder or a new folder, or change it with: scr source reindex"
            )
        return known[0]

    def write_embedder(self, row: tuple[str | None, str | None, int]) -> None:
        """Note which embedder an ingest without a manifest uses."""
        with self.db:
            self.db.execute("DELETE FROM embedder")
            self.db.execute("INSERT INTO embedder VALUES (?,?,?)", row)

    def rows(self, where: str, *values: int) -> Rows:
        """Row numbers, ascending, of the documents that fit."""
        query = f"SELECT row FROM documents WHERE {where} ORDER BY row"  # noqa: S608
        return np.fromiter((row for (row,) in self.db.execute(query, values)), dtype=np.int64)

    def remove(self, rows: Iterable[int]) -> None:
        """Mark `rows` as removed in the next generation; the caller holds the transaction."""
        self.db.executemany(
            "UPDATE documents SET removed = ? WHERE row = ?", [(self.next, int(row)) for row in rows]
        )

    def restore(self) -> None:
        """Take back removals that an unfinished writer left without a document in their place."""
        with self.db:
            self.db.execute(
                "UPDATE documents SET removed = NULL WHERE removed = ? AND added <= ? AND doc_id NOT IN"
                " (SELECT doc_id FROM documents WHERE added = ? AND removed IS NULL)",
                (self.next, self.current, self.next),
            )

    def step_aside(self) -> None:
        """Move what an unfinished ingest staged one generation on, so that the next one lacks it."""
        later = self.next + 1
        self.db.execute("UPDATE documents SET added = ? WHERE added = ?", (later, self.next))
        self.db.execute("UPDATE documents SET removed = ? WHERE removed = ?", (later, self.next))

    def drop_staged(self) -> None:
        """Undo what an unfinished ingest staged."""
        with self.db:
            self.db.execute("DELETE FROM documents WHERE added = ?", (self.next,))
        self.restore()
        (self.folder / STAGED).unlink(missing_ok=True)

    def place_vectors(self, dimension: int) -> str:
        """Write the vectors of the next generation in the order of its rows; returns the file's name."""
        after = self.rows(VISIBLE, self.next, self.next)
        old = map_vectors(self.folder, self.manifest) if self.manifest else None
        before = self.rows(VISIBLE, self.current, self.current)
        kept = np.flatnonzero(np.isin(before, after, assume_unique=True))
        staged_rows = self.rows("added = ?", self.next)
        fresh = np.flatnonzero(np.isin(staged_rows, after, assume_unique=True))
        name = f"vectors-{self.next}.f32"
        if old is None and len(fresh) == len(staged_rows) and self._linked(name, len(fresh) * dimension * 4):
            return name
        sources: list[tuple[Vectors, NDArray[np.intp]]] = []
        mode, start = "w+b", 0
        if old is not None and self.manifest is not None and self.manifest.vectors is not None:
            if len(kept) == len(before) and self.manifest.n_documents:
                name, mode, start = self.manifest.vectors, "r+b", old.nbytes
            else:
                sources.append((old, kept))
        if len(fresh):
            shape = (len(staged_rows), dimension)
            sources.append((np.memmap(self.folder / STAGED, "<f4", "r", shape=shape), fresh))
        write_rows(self.folder / name, sources, mode, start)
        return name

    def _linked(self, name: str, size: int) -> bool:
        """Give the staged vectors their final name without copying them, where the file system can."""
        staged, target = self.folder / STAGED, self.folder / name
        if not size or not staged.exists() or staged.stat().st_size != size:
            return False
        target.unlink(missing_ok=True)
        with suppress(OSError):
            target.hardlink_to(staged)
            return True
        return False

    def publish(self, swapped: Manifest, *, thorough: bool = False) -> None:
        """Make `swapped` the current generation, then delete what neither it nor the last one needs.

        `thorough`: what was removed is needed by nobody, not even by a reader of the last generation,
        and leaves no trace in the store.
        """
        if thorough:
            purge.ask(self.db)
        write_atomic(self.folder / MANIFEST, swapped.model_dump_json(indent=2) + "\n")
        sync_folder(self.folder)
        before, self.manifest = self.manifest, swapped
        self.current, self.next = swapped.generation, swapped.generation + 1
        self._delete(
            keep=swapped.vectors, also=before.vectors if before and not thorough else None, thorough=thorough
        )

    def _delete(self, keep: str | None, also: str | None = None, *, thorough: bool) -> None:
        for path in self.folder.glob("vectors-*.f32"):
            if path.name not in (keep, also):
                path.unlink()
        if not self.db.execute("SELECT 1 FROM documents WHERE added >= ? LIMIT 1", (self.next,)).fetchone():
            (self.folder / STAGED).unlink(missing_ok=True)
        with self.db:
            last = self.current if thorough else self.current - 1
            self.db.execute("DELETE FROM documents WHERE removed <= ?", (last,))
        if thorough:
            purge.finish(self.folder, self.db)


@contextmanager
def open_writer(folder: Path, *, wait: bool = False) -> Iterator[StoreWriter]:
    """The writer of the store in `folder`, made if missing; `wait` for another instead of refusing.

    Raises:
        StoreError: another writer is at work, the store is unusable or newer, or the disk fails.
    """
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise StoreError(f"{folder}: cannot be a store folder ({error.strerror})") from None
    with only_one(folder / ".lock", f"{folder}: another ingest is writing to this store", wait=wait):
        manifest = read_manifest(folder)
        if manifest is not None and manifest.backend is not None:
            raise StoreError(f"{folder}: its documents are in a {manifest.backend.kind} collection, not here")
        try:
            with closing(sqlite3.connect(folder / DATABASE, timeout=30)) as db:
                prepare(db, folder / DATABASE)
                yield StoreWriter(folder, db, manifest)
        except sqlite3.Error as error:
            raise StoreError(f"{folder / DATABASE}: cannot be written ({error})") from None
        except OSError as error:
            raise StoreError(f"{folder}: cannot be written ({error.strerror})") from None


@contextmanager
def only_one(path: Path, refusal: str, *, wait: bool = False) -> Iterator[None]:
    """Hold the lock file `path`; `wait` for whoever holds it instead of refusing.

    Raises:
        StoreError: `refusal`, where another process holds it.
    """
    with path.open("w") as lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | (0 if wait else fcntl.LOCK_NB))
        except OSError:
            raise StoreError(refusal) from None
        yield


def write_rows(
    path: Path, sources: Iterable[tuple[Vectors, NDArray[np.intp]]], mode: str = "w+b", start: int = 0
) -> None:
    """Write the chosen rows of each matrix to `path` from byte `start` on, and sync it."""
    if not start:
        path.unlink(missing_ok=True)  # an unfinished writer may have given this name to staged vectors
    with path.open(mode) as file:
        file.truncate(start)
        file.seek(start)
        for matrix, chosen in sources:
            for first in range(0, len(chosen), _COPY_ROWS):
                file.write(matrix[chosen[first : first + _COPY_ROWS]].astype("<f4", copy=False).tobytes())
        file.flush()
        os.fsync(file.fileno())


def sync_folder(folder: Path) -> None:
    """Make renames in `folder` durable."""
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
