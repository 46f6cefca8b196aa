"""A node's documents on disk: what a reader opens is always one whole ingest.

    STORE/manifest.json       which generation is current; replaced atomically, the last step of an ingest
    STORE/documents.sqlite    documents (WAL), each with the generations that it was added and removed in
    STORE/vectors-G.f32       little-endian float32 (n, d): row i belongs to the i-th document of the
                              generation in row order; memory-mapped
    STORE/staged.f32          vectors of documents that an unfinished ingest added (`source_node.ingest`)

A reader of generation g sees the documents added at or before g and not removed by then, and the first
n rows of the vectors that its manifest names. A crash at any point leaves the old generation readable.
What a changed document said before stays readable for one more generation, so that a node that runs on
has time to notice (`source_node.live`); what was withdrawn or pruned does not.
"""

from __future__ import annotations

import json
import sqlite3
import threading
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, overload

import numpy as np
from numpy.typing import NDArray
from pydantic import Field

from core.config import StrictModel, parse
from core.embedding.base import Vectors
from core.errors import ConfigError, StoreError
from core.records import Document
from source_node.schema import FORMAT, check_format

MANIFEST = "manifest.json"
DATABASE = "documents.sqlite"
_TRIES = 5  # openings of a store that is being written to
VISIBLE = "added <= ? AND (removed IS NULL OR removed > ?)"


class Backend(StrictModel):
    """A collection elsewhere that holds the documents and their vectors; `options` are its kind's own."""

    kind: str
    options: dict[str, Any]


class Manifest(StrictModel):
    """What makes a generation current; `vectors` is None where the store has no embedder.

    `n_documents` counts rows: chunks, where documents were cut. With a `backend` nothing else is here.
    """

    format: int = FORMAT
    generation: int = Field(ge=1)
    n_documents: int = Field(ge=0)
    embedder: str | None = None
    identity: str | None = None
    dimension: int = Field(default=0, ge=0)
    vectors: str | None = None
    backend: Backend | None = None


def read_manifest(folder: Path) -> Manifest | None:
    """The manifest of the store in `folder`, None where no ingest has finished.

    Raises:
        StoreError: it is unreadable or of a newer format; an older one is read as it is.
    """
    path = folder / MANIFEST
    try:
        fields = json.loads(path.read_text(encoding="utf-8"))
    except FileNotFoundError:
        return None
    except (OSError, ValueError) as error:
        raise StoreError(f"{path}: not a manifest ({error}); ingest into a new folder") from None
    found = fields.get("format") if isinstance(fields, dict) else None
    check_format(found, path)
    try:
        return parse(Manifest, {**fields, "format": FORMAT}, str(path))
    except ConfigError as error:
        raise StoreError(f"{error}; ingest into a new folder") from None


class DocumentStore:
    """A reader's view of one generation; it stays as it is while an ingest goes on.

    Raises:
        StoreError: no store, an unfinished first ingest, or files that do not fit the manifest.
    """

    def __init__(self, folder: Path | str) -> None:
        self.folder = Path(folder)
        self.manifest = self._manifest()
        for _ in range(_TRIES):
            try:
                self._open()
                return
            except StoreError:  # of a generation that a writer replaced meanwhile?
                before, self.manifest = self.manifest, self._manifest()
                if before == self.manifest:
                    raise
        self._open()

    def _manifest(self) -> Manifest:
        manifest = read_manifest(self.folder)
        if manifest is None:
            started = (self.folder / DATABASE).exists()
            what = "the first ingest has not finished" if started else "no store here"
            raise StoreError(
                f"{self.folder}: {what}; run: scr source ingest --input PATH --store {self.folder}"
            )
        if manifest.backend is not None:
            raise StoreError(f"{self.folder}: its documents are in a {manifest.backend.kind} collection")
        return manifest

    def _open(self) -> None:
        self.vectors = map_vectors(self.folder, self.manifest)
        self.documents = StoredDocuments(self.folder / DATABASE, self.manifest.generation)
        if len(self.documents) != self.manifest.n_documents:
            raise StoreError(
                f"{self.folder}: {len(self.documents)} documents where the manifest says "
                f"{self.manifest.n_documents}; ingest into a new folder"
            )

    def close(self) -> None:
        """Release the database."""
        self.documents.close()


def map_vectors(folder: Path, manifest: Manifest) -> Vectors | None:
    """(n, d) read-only map of the manifest's vectors, None where it names none.

    Raises:
        StoreError: the file is missing or too short.
    """
    if manifest.vectors is None:
        return None
    if not manifest.n_documents:
        return np.zeros((0, manifest.dimension), dtype=np.float32)
    path = folder / manifest.vectors
    needed = manifest.n_documents * manifest.dimension * 4
    size = path.stat().st_size if path.is_file() else -1
    if size < needed:
        problem = "missing" if size < 0 else f"{size} bytes where {needed} are due"
        raise StoreError(f"{path}: {problem}; ingest into a new folder")
    return np.memmap(path, dtype="<f4", mode="r", shape=(manifest.n_documents, manifest.dimension))


class StoredDocuments(Sequence[Document]):
    """The documents of one generation, read from disk when asked for; safe for many threads."""

    def __init__(self, path: Path, generation: int) -> None:
        self._path = path
        self._visible = (generation, generation)
        self._lock = threading.Lock()
        try:
            self._db = sqlite3.connect(
                f"{path.resolve().as_uri()}?mode=ro", uri=True, check_same_thread=False, timeout=30
            )
            rows = self._db.execute(f"SELECT row FROM documents WHERE {VISIBLE} ORDER BY row", self._visible)  # noqa: S608
            self._rows = np.fromiter((row for (row,) in rows), dtype=np.int64)
        except sqlite3.DatabaseError as error:
            raise StoreError(f"{path}: not a usable document database ({error})") from None

    def __len__(self) -> int:
        return len(self._rows)

    @overload
    def __getitem__(self, index: int) -> Document: ...
    @overload
    def __getitem__(self, index: slice) -> list[Document]: ...
    def __getitem__(self, index: int | slice) -> Document | list[Document]:
        if isinstance(index, slice):
            return [self[i] for i in range(*index.indices(len(self)))]
        (found,) = self.fetch([index])
        if found is None:
            raise StoreError(
                f"{self._path}: the store has moved on since this node opened it; restart the node"
            )
        return found

    def fetch(self, indices: Sequence[int]) -> list[Document | None]:
        """The documents at `indices` in one query; None where one was removed since this view opened."""
        rows = [int(self._rows[index]) for index in indices]
        marks = ",".join("?" * len(rows))
        query = f"SELECT row, doc_id, text, title, category FROM documents WHERE row IN ({marks})"  # noqa: S608
        found = {row: Document(*fields) for row, *fields in self._fetch(query, tuple(rows))}
        return [found.get(row) for row in rows]

    def __iter__(self) -> Iterator[Document]:
        """All documents in order, a thousand at a time."""
        query = "SELECT doc_id, text, title, category FROM documents WHERE row BETWEEN ? AND ? AND "
        for start in range(0, len(self._rows), 1000):
            piece = self._rows[start : start + 1000]
            bounds = (int(piece[0]), int(piece[-1]), *self._visible)
            found = self._fetch(f"{query} {VISIBLE} ORDER BY row", bounds)
            if len(found) != len(piece):
                raise StoreError(f"{self._path}: documents were withdrawn while they were read; try again")
            for fields in found:
                yield Document(*fields)

    def id_ranks(self) -> NDArray[np.int32]:
        """(n,) position of each document in the order of the ids, without loading a text."""
        query = f"SELECT row FROM documents WHERE {VISIBLE} ORDER BY doc_id"  # noqa: S608
        by_id = np.fromiter((row for (row,) in self._fetch(query, self._visible)), dtype=np.int64)
        ranks = np.empty(len(self._rows), dtype=np.int32)
        ranks[np.searchsorted(self._rows, by_id)] = np.arange(len(by_id), dtype=np.int32)
        return ranks

    def close(self) -> None:
        with self._lock:
            self._db.close()

    def _fetch(self, query: str, values: Sequence[int]) -> list[tuple[Any, ...]]:
        try:
            with self._lock:
                return self._db.execute(query, values).fetchall()
        except sqlite3.Error as error:
            raise StoreError(f"{self._path}: cannot be read ({error})") from None
