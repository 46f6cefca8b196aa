"""Withdraws documents: gone from the store, its log and index, and the embedding cache; they stay out."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from core.errors import StoreError
from core.records import Document
from core.text import content_hash
from source_node.index import searchable
from source_node.purge import forget_cached
from source_node.store import VISIBLE, read_manifest
from source_node.writer import StoreWriter, open_writer


@dataclass(frozen=True)
class Withdrawal:
    """What was withdrawn: `rows` of `documents`; `left` rows remain; `unknown` ids were not there."""

    documents: tuple[str, ...]
    unknown: tuple[str, ...]
    rows: int
    left: int


def withdraw(folder: Path | str, doc_ids: Sequence[str]) -> Withdrawal:
    """Remove documents (with all their chunks) or single chunks, now and for later ingests.

    A later ingest of the same input leaves them out, until it is told to readmit. Run again after a
    crash: what had begun is finished.

    Raises:
        StoreError: no store, another writer is at work, or a reader holds on to the log (run it again).
    """
    folder = Path(folder)
    if read_manifest(folder) is None:
        raise StoreError(f"{folder}: no store here with a finished ingest")
    with open_writer(folder) as writer:
        found = {doc_id: _rows(writer, doc_id) for doc_id in dict.fromkeys(doc_ids)}
        rows = {row: text for named in found.values() for row, text in named}
        known = tuple(doc_id for doc_id, named in found.items() if named)
        if rows:
            forget_cached(rows.values())
            _publish(writer, known, sorted(rows))
        left = len(writer.rows(VISIBLE, writer.current, writer.current))
        return Withdrawal(known, tuple(doc_id for doc_id in found if not found[doc_id]), len(rows), left)


def _rows(writer: StoreWriter, doc_id: str) -> list[tuple[int, str]]:
    """(row, searchable text) of every row of `doc_id`, replaced ones and staged ones among them."""
    query = "SELECT row, doc_id, text, title FROM documents WHERE parent = ? OR doc_id = ?"
    return [
        (row, searchable(Document(*fields))) for row, *fields in writer.db.execute(query, (doc_id, doc_id))
    ]


def _publish(writer: StoreWriter, doc_ids: Sequence[str], rows: Sequence[int]) -> None:
    assert writer.manifest is not None
    if set(rows) & set(writer.rows("added = ?", writer.next).tolist()):
        writer.drop_staged()  # an unfinished ingest embeds its part again
    with writer.db:
        writer.db.executemany(
            "INSERT OR IGNORE INTO withdrawn VALUES (?)", [(content_hash(doc_id),) for doc_id in doc_ids]
        )
        writer.step_aside()
        writer.db.executemany(  # what was replaced before is deleted with them
            "UPDATE documents SET removed = ? WHERE row = ? AND (removed IS NULL OR removed > ?)",
            [(writer.next, row, writer.next) for row in rows],
        )
    before = writer.manifest
    left = len(writer.rows(VISIBLE, writer.next, writer.next))
    vectors = None if before.vectors is None else writer.place_vectors(before.dimension)
    changed = {"generation": writer.next, "n_documents": left, "vectors": vectors}
    writer.publish(before.model_copy(update=changed), thorough=True)
