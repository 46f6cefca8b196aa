"""Adds a corpus to a store: resumable by content hash, incremental, visible only when complete.

Every batch is committed as staged (for the generation after the current one): vectors first, then
documents, so that a committed document always has its vector. The end of an ingest puts the vectors
in place, swaps the manifest, and only then cleans up; until then readers see the old generation.
"""

from __future__ import annotations

import os
import sqlite3
from collections.abc import Callable, Iterable, Iterator
from contextlib import closing
from dataclasses import dataclass, field, replace
from pathlib import Path

from core import bounds
from core.embedding.base import Embedder
from core.errors import DataError, StoreError, WireError
from core.records import Document
from core.text import content_hash
from source_node.categories import Labeler
from source_node.chunking import Chunking
from source_node.index import checked_vectors, searchable
from source_node.purge import forget_cached
from source_node.store import DATABASE, VISIBLE, Manifest, read_manifest
from source_node.writer import STAGED, StoreWriter, open_writer

_LOOKUP = 500  # ids a query: below SQLite's limit of bound variables


@dataclass(frozen=True)
class IngestReport:
    """What an ingest did, in documents; `total` is what the store holds now.

    `chunks`: the rows that `total` documents stand in. `withdrawn`: documents of the input that were
    withdrawn earlier and therefore left out.
    """

    new: int
    changed: int
    unchanged: int
    removed: int
    total: int
    chunks: int = field(default=0, compare=False)
    withdrawn: int = 0


@dataclass(frozen=True)
class IngestOptions:
    """How documents go in.

    `prune`: also remove documents that the input lacks, without a trace. `chunking`: cut long ones.
    `labeler`: names the category of those that come without. `readmit`: take back what was withdrawn.
    `batch`: rows embedded and committed at once (a document's rows stay together).
    """

    prune: bool = False
    chunking: Chunking | None = None
    labeler: Labeler | None = None
    readmit: bool = False
    batch: int = 512


def ingest(
    documents: Iterable[Document],
    folder: Path | str,
    embedder: Embedder | None,
    *,
    embedder_name: str | None = None,
    prune: bool = False,
    batch: int = 512,
    options: IngestOptions | None = None,
    progress: Callable[[int], None] = lambda done: None,
) -> IngestReport:
    """Bring the store in `folder` up to `documents`; run again after a crash, it goes on.

    Args:
        documents: distinct ids; a known id with other content replaces what was there.
        folder: the store, made if missing.
        embedder: makes the vectors; None makes a store for lexical retrieval only.
        embedder_name: by which name `core.embedding.open_embedder` finds the embedder again.
        prune, batch: as in `options`, where those are not given.
        options: everything else.
        progress: called with the number of documents looked at, after each batch.

    Raises:
        StoreError: another writer is at work, the store is unusable, or it has another embedder.
        DataError: `documents` is empty, or what reading them raised; what came before stays staged.
    """
    with open_writer(Path(folder)) as writer:
        run = _Run(writer, embedder, embedder_name, options or IngestOptions(prune=prune, batch=batch))
        run.add(documents, progress)
        return run.finish()


def embedder_of(folder: Path | str) -> str | None:
    """The name of the embedder that the store in `folder` was made with, also by an unfinished ingest.

    `none` for a store without vectors, None where there is no store yet.
    """
    manifest = read_manifest(Path(folder))
    if manifest is not None:
        return "none" if manifest.identity is None else manifest.embedder
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


@dataclass
class _Batch:
    """Documents with the rows that they stand in, to be committed together."""

    documents: list[tuple[Document, list[Document]]] = field(default_factory=list)
    rows: int = 0


class _Run:
    """One ingest under the lock."""

    def __init__(
        self, writer: StoreWriter, embedder: Embedder | None, name: str | None, options: IngestOptions
    ) -> None:
        self.writer, self.db, self.embedder, self.options = writer, writer.db, embedder, options
        self.new = self.changed = self.unchanged = self.withdrawn = 0
        self.name = writer.settle_embedder(embedder, name)
        self._open_staged(len(writer.rows("added = ?", writer.next)))
        self.banned = {key for (key,) in self.db.execute("SELECT key FROM withdrawn")}
        live = "added = ? AND removed IS NULL"
        self.unseen = set(writer.rows(live, writer.next).tolist())
        if options.prune:
            self.unseen.update(writer.rows("removed IS NULL").tolist())

    def _open_staged(self, count: int) -> None:
        """Cut the staged vectors to the documents that were committed with them."""
        if self.embedder is None:
            return
        path = self.writer.folder / STAGED
        path.touch()
        size = count * self.embedder.dimension * 4
        if path.stat().st_size < size:
            raise StoreError(
                f"{path}: {path.stat().st_size} bytes where {size} are due; ingest into a new folder"
            )
        os.truncate(path, size)

    def add(self, documents: Iterable[Document], progress: Callable[[int], None]) -> None:
        """Stage what is new or changed, batch by batch."""
        done = 0
        for batch in self._batches(documents):
            self._add_batch(batch.documents)
            done += len(batch.documents)
            progress(done)
        if not done:
            raise DataError(f"no documents to ingest into {self.writer.folder}")

    def _batches(self, documents: Iterable[Document]) -> Iterator[_Batch]:
        batch = _Batch()
        for document in documents:
            pieces = self._pieces(document)
            batch.documents.append((document, pieces))
            batch.rows += max(len(pieces), 1)
            if batch.rows >= self.options.batch:
                yield batch
                batch = _Batch()
        if batch.documents:
            yield batch

    def _pieces(self, document: Document) -> list[Document]:
        """The rows that `document` stands in: none where all of it was withdrawn."""
        keys = {content_hash(document.doc_id)}
        pieces = [document] if self.options.chunking is None else self.options.chunking.pieces(document)
        if len(pieces) > 1:
            try:
                bounds.identifier(pieces[-1].doc_id, "the id of its last chunk")
            except WireError as error:
                raise DataError(f"{document.doc_id}: {error}") from None
            keys |= {content_hash(piece.doc_id) for piece in pieces}
        if not self.banned or not keys & self.banned:
            return pieces
        if self.options.readmit:
            with self.db:
                self.db.executemany("DELETE FROM withdrawn WHERE key = ?", [(key,) for key in keys])
            return pieces
        if content_hash(document.doc_id) in self.banned:
            return []
        return [piece for piece in pieces if content_hash(piece.doc_id) not in self.banned]

    def _add_batch(self, group: list[tuple[Document, list[Document]]]) -> None:
        known = self._known([document.doc_id for document, _ in group])
        fresh: list[tuple[Document, str, str]] = []
        replaced: list[int] = []
        for document, pieces in group:
            old = known.get(document.doc_id, {})
            self.unseen.difference_update(row for row, _ in old.values())
            digests = [self._digest(piece) for piece in pieces]
            kept = 0
            for piece, digest in zip(pieces, digests, strict=True):
                row, before = old.pop(piece.doc_id, (None, None))
                if before == digest:
                    kept += 1
                    continue
                fresh.append((piece, digest, document.doc_id))
                if row is not None:
                    replaced.append(row)
            replaced += [row for row, _ in old.values()]  # chunks that the document no longer has
            if not pieces:
                self.withdrawn += 1
            elif document.doc_id not in known:
                self.new += 1
            elif kept == len(pieces) and not old:
                self.unchanged += 1
            else:
                self.changed += 1
        if fresh or replaced:
            self._stage(fresh, replaced)

    def _stage(self, fresh: list[tuple[Document, str, str]], replaced: list[int]) -> None:
        pieces = [piece for piece, _, _ in fresh]
        if self.embedder is not None and fresh:
            vectors = checked_vectors(self.embedder, [searchable(piece) for piece in pieces])
            with (self.writer.folder / STAGED).open("ab") as staged:
                staged.write(vectors.astype("<f4", copy=False).tobytes())
                staged.flush()
                os.fsync(staged.fileno())
            if self.options.labeler is not None:
                named = zip(pieces, self.options.labeler.label(vectors), strict=True)
                pieces = [p if p.category else replace(p, category=category) for p, category in named]
        try:
            with self.db:
                self.writer.remove(replaced)
                self.db.executemany(
                    "INSERT INTO documents (doc_id, hash, text, title, category, added, parent)"
                    " VALUES (?,?,?,?,?,?,?)",
                    [
                        (p.doc_id, digest, p.text, p.title, p.category, self.writer.next, parent)
                        for p, (_, digest, parent) in zip(pieces, fresh, strict=True)
                    ],
                )
        except sqlite3.IntegrityError:
            raise DataError("one document id stands on several documents of a batch") from None

    def _digest(self, piece: Document) -> str:
        digest = content_hash("\x1f".join((piece.title, piece.category or "", piece.text)))
        if self.options.labeler is None or piece.category is not None:
            return digest
        return content_hash(f"{digest}\x1f{self.options.labeler.identity}")

    def _known(self, ids: list[str]) -> dict[str, dict[str, tuple[int, str]]]:
        """The live rows of documents: id -> id of the row -> (row, hash)."""
        found: dict[str, dict[str, tuple[int, str]]] = {}
        for start in range(0, len(ids), _LOOKUP):
            chunk = ids[start : start + _LOOKUP]
            marks = ",".join("?" * len(chunk))
            query = f"SELECT parent, doc_id, row, hash FROM documents WHERE removed IS NULL AND parent IN ({marks})"  # noqa: S608, E501
            for parent, doc_id, row, digest in self.db.execute(query, chunk):
                found.setdefault(parent, {})[doc_id] = (row, digest)
        return found

    def finish(self) -> IngestReport:
        """Make what was staged the current generation; nothing happens where nothing changed."""
        writer = self.writer
        pruned = sorted(self.unseen.intersection(writer.rows("added <= ?", writer.current).tolist()))
        counted = len({parent for parent, _ in self._texts(pruned)})
        if pruned:
            forget_cached(text for _, text in self._texts(pruned))
        with self.db:  # pruned, or staged by an earlier, unfinished ingest of something else
            writer.remove(sorted(self.unseen))
        if not self.options.prune:
            writer.restore()
        total = len(writer.rows(VISIBLE, writer.next, writer.next))
        removals = len(writer.rows("removed = ? AND added <= ?", writer.next, writer.current))
        additions = len(writer.rows("added = ? AND removed IS NULL", writer.next))
        if removals or additions:
            writer.publish(self._manifest(total), thorough=bool(pruned or self.withdrawn))
        (documents,) = self.db.execute(
            "SELECT count(DISTINCT parent) FROM documents WHERE removed IS NULL"
        ).fetchone()
        return IngestReport(
            self.new, self.changed, self.unchanged, counted, documents, total, withdrawn=self.withdrawn
        )

    def _texts(self, rows: list[int]) -> Iterator[tuple[str, str]]:
        """(document, searchable text) of `rows`."""
        for row in rows:
            query = "SELECT parent, doc_id, text, title FROM documents WHERE row = ?"
            for parent, *fields in self.db.execute(query, (row,)):
                yield parent, searchable(Document(*fields))

    def _manifest(self, total: int) -> Manifest:
        if self.embedder is None:
            return Manifest(generation=self.writer.next, n_documents=total)
        return Manifest(
            generation=self.writer.next,
            n_documents=total,
            embedder=self.name,
            identity=self.embedder.identity,
            dimension=self.embedder.dimension,
            vectors=self.writer.place_vectors(self.embedder.dimension),
        )
