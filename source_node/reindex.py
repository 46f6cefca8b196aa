"""Gives a store the vectors of another embedder while it is served, then switches in one step.

Vectors are made in batches without the store's lock, so ingests and withdrawals go on; what they added
is embedded before the switch, what they removed is blanked (`source_node.purge`). Killed, it goes on
where it was. Readers see the old vectors until the manifest is swapped.
"""

from __future__ import annotations

import os
import sqlite3
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

import numpy as np

from core.embedding.base import Embedder
from core.errors import StoreError
from core.records import Document
from source_node.index import checked_vectors, searchable
from source_node.purge import REINDEX
from source_node.schema import prepare
from source_node.store import DATABASE, VISIBLE, Manifest, read_manifest
from source_node.writer import StoreWriter, only_one, open_writer, write_rows

_MISSING = f"{VISIBLE} AND row NOT IN (SELECT row FROM reindexed)"  # noqa: S608


def reindex(
    folder: Path | str,
    embedder: Embedder,
    embedder_name: str,
    *,
    batch: int = 512,
    progress: Callable[[int, int], None] = lambda done, total: None,
) -> Manifest:
    """Embed every document of the store anew and switch to the new vectors; returns the new manifest.

    An unfinished ingest is dropped at the switch: its vectors would be of the old embedder.
    `progress` is called with (documents embedded, documents in all).

    Raises:
        StoreError: no store, another re-index or a writer at work, or the disk fails.
        EmbeddingError: the embedder failed.
    """
    folder = Path(folder)
    manifest = read_manifest(folder)
    if manifest is None:
        raise StoreError(f"{folder}: no store here with a finished ingest")
    if manifest.identity == embedder.identity:
        return manifest
    with only_one(folder / ".reindex.lock", f"{folder}: another re-index is running"):
        with open_writer(folder) as writer:  # brings an older store up to date, repairs it
            _begin(writer, embedder, embedder_name)
        try:
            with closing(sqlite3.connect(folder / DATABASE, timeout=60)) as db:
                prepare(db, folder / DATABASE)
                while _embed_batch(folder, db, embedder, batch, progress):
                    pass
        except (sqlite3.Error, OSError) as error:
            raise StoreError(f"{folder}: cannot be re-indexed ({error})") from None
        with open_writer(folder, wait=True) as writer:
            while _embed_batch(folder, writer.db, embedder, batch, progress):  # added meanwhile
                pass
            return _switch(writer, embedder, embedder_name)


def _begin(writer: StoreWriter, embedder: Embedder, name: str) -> None:
    """Note what the vectors in the making are of; forget those of another embedder."""
    known = writer.db.execute("SELECT value FROM state WHERE key = 'reindex'").fetchone()
    if known == (embedder.identity,) and (writer.folder / REINDEX).exists():
        return
    with writer.db:
        writer.db.execute("DELETE FROM reindexed")
        values = [("reindex", embedder.identity), ("reindex_dimension", str(embedder.dimension))]
        writer.db.executemany("INSERT OR REPLACE INTO state VALUES (?,?)", values)
    (writer.folder / REINDEX).write_bytes(b"")


def _embed_batch(
    folder: Path,
    db: sqlite3.Connection,
    embedder: Embedder,
    batch: int,
    progress: Callable[[int, int], None],
) -> bool:
    """Embed the next documents without a vector; False where there are none."""
    manifest = read_manifest(folder)
    assert manifest is not None
    seen = (manifest.generation, manifest.generation)
    query = f"SELECT row, doc_id, text, title FROM documents WHERE {_MISSING} ORDER BY row LIMIT ?"  # noqa: S608
    found = [(row, Document(*fields)) for row, *fields in db.execute(query, (*seen, batch))]
    if not found:
        return False
    vectors = checked_vectors(embedder, [searchable(document) for _, document in found])
    marks = ",".join("?" * len(found))
    with db:
        db.execute("BEGIN IMMEDIATE")  # the right to write: nothing is purged between look and addition
        rows = f"SELECT row FROM documents WHERE row IN ({marks})"  # noqa: S608
        there = {row for (row,) in db.execute(rows, [row for row, _ in found])}
        place = db.execute("SELECT coalesce(max(place), -1) + 1 FROM reindexed").fetchone()[0]
        chosen = [position for position, (row, _) in enumerate(found) if row in there]
        with (folder / REINDEX).open("r+b") as file:
            file.seek(place * embedder.dimension * 4)
            file.write(vectors[chosen].astype("<f4", copy=False).tobytes())
            file.flush()
            os.fsync(file.fileno())
        added = [(found[position][0], place + offset) for offset, position in enumerate(chosen)]
        db.executemany("INSERT INTO reindexed VALUES (?,?)", added)
    progress(place + len(added), max(manifest.n_documents, place + len(added)))
    return True


def _switch(writer: StoreWriter, embedder: Embedder, name: str) -> Manifest:
    assert writer.manifest is not None
    writer.drop_staged()
    rows = writer.rows(VISIBLE, writer.current, writer.current)
    places = dict(writer.db.execute("SELECT row, place FROM reindexed"))
    order = np.fromiter((places[int(row)] for row in rows), dtype=np.intp, count=len(rows))
    vectors = f"vectors-{writer.next}.f32"
    size = max(places.values(), default=-1) + 1
    if size:
        made = np.memmap(writer.folder / REINDEX, "<f4", "r", shape=(size, embedder.dimension))
        write_rows(writer.folder / vectors, [(made, order)])
    else:
        (writer.folder / vectors).write_bytes(b"")
    changed = {
        "generation": writer.next,
        "embedder": name,
        "identity": embedder.identity,
        "dimension": embedder.dimension,
        "vectors": vectors,
    }
    swapped = writer.manifest.model_copy(update=changed)
    writer.publish(swapped)
    writer.write_embedder((name, embedder.identity, embedder.dimension))
    with writer.db:
        writer.db.execute("DELETE FROM reindexed")
        writer.db.execute("DELETE FROM state WHERE key LIKE 'reindex%'")
    (writer.folder / REINDEX).unlink(missing_ok=True)
    return swapped
