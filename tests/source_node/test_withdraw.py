"""A withdrawn document is gone: from every byte of the store, the cache, and later ingests."""

from __future__ import annotations

import sqlite3
from pathlib import Path

import numpy as np
import pytest

from core.cli import main
from core.embedding import open_embedder
from core.embedding.hashing import HashingEmbedder
from core.errors import DataError, StoreError
from core.records import Document
from source_node import purge
from source_node.chunking import Chunking
from source_node.index import searchable
from source_node.ingest import IngestOptions, ingest
from source_node.store import DocumentStore, read_manifest
from source_node.withdraw import withdraw

SECRET = "zebrafinch"
DOCUMENTS = [Document(str(i), f"Plain text number {i}. " * (1 + i % 40), f"title {i}") for i in range(300)]
SECRETS = [Document(f"s{i}", f"Here {SECRET} {i} sings. " * (1 + 7 * i), f"{SECRET} title") for i in range(6)]


def traces(folder: Path, word: str = SECRET) -> list[str]:
    """Files of the folder that hold `word` in any of its bytes."""
    return [path.name for path in folder.rglob("*") if path.is_file() and word.encode() in path.read_bytes()]


def ids(folder: Path) -> list[str]:
    store = DocumentStore(folder)
    found = [document.doc_id for document in store.documents]
    store.close()
    return found


@pytest.fixture
def store(tmp_path: Path) -> Path:
    mixed = [*DOCUMENTS[:100], *SECRETS[:3], *DOCUMENTS[100:], *SECRETS[3:]]
    ingest(mixed, tmp_path / "store", HashingEmbedder(16), embedder_name="hashing:16", batch=64)
    return tmp_path / "store"


def test_no_byte_of_a_withdrawn_document_is_left(store: Path, scr_cache: Path) -> None:
    cached = open_embedder("hashing:16")
    cached.embed([searchable(document) for document in (*SECRETS, DOCUMENTS[0])])
    vector = HashingEmbedder(16).embed([searchable(SECRETS[1])])[0].astype("<f4").tobytes()
    assert traces(store)
    ingest([Document("s0", f"{SECRET} was changed")], store, HashingEmbedder(16))  # an older one is kept
    done = withdraw(store, [document.doc_id for document in SECRETS])
    assert (len(done.documents), done.rows, done.left, done.unknown) == (6, 7, 300, ())
    assert traces(store) == []
    assert not any(vector in path.read_bytes() for path in store.rglob("*") if path.is_file())
    assert cached.store is not None
    assert len(cached.store.read(cached.identity, list(_hashes()))) == 1
    opened = DocumentStore(store)
    assert list(opened.documents) == DOCUMENTS
    wanted = HashingEmbedder(16).embed([searchable(document) for document in DOCUMENTS])
    np.testing.assert_array_equal(opened.vectors, wanted)


def _hashes() -> list[str]:
    from core.text import content_hash

    return [content_hash(searchable(document)) for document in (*SECRETS, DOCUMENTS[0])]


def test_prune_leaves_no_byte_either(store: Path) -> None:
    report = ingest(DOCUMENTS, store, HashingEmbedder(16), prune=True)
    assert (report.removed, report.total) == (6, 300)
    assert traces(store) == []


def test_a_withdrawn_document_stays_out_until_it_is_readmitted(store: Path) -> None:
    withdraw(store, ["s1"])
    report = ingest([*DOCUMENTS, *SECRETS], store, HashingEmbedder(16))
    assert (report.new, report.withdrawn, report.total) == (0, 1, 305)
    report = ingest([SECRETS[1]], store, HashingEmbedder(16), options=IngestOptions(readmit=True))
    assert (report.new, report.total) == (1, 306)
    assert ingest([SECRETS[1]], store, HashingEmbedder(16)).unchanged == 1


def test_a_document_goes_with_all_its_chunks_and_a_chunk_alone(tmp_path: Path) -> None:
    long = Document("long", " ".join(f"word{i}" for i in range(50)))
    cut = IngestOptions(chunking=Chunking(words=20))
    ingest([long, Document("short", "stays")], tmp_path, HashingEmbedder(16), options=cut)
    assert ids(tmp_path) == ["long#1", "long#2", "long#3", "short"]
    assert withdraw(tmp_path, ["long#2"]).rows == 1
    ingest([long], tmp_path, HashingEmbedder(16), options=cut)
    assert ids(tmp_path) == ["long#1", "long#3", "short"]
    assert withdraw(tmp_path, ["long"]).rows == 2
    assert ids(tmp_path) == ["short"]
    assert traces(tmp_path, "word25") == []


def test_the_last_document_can_go(tmp_path: Path) -> None:
    ingest([Document("only", SECRET)], tmp_path, HashingEmbedder(16))
    assert withdraw(tmp_path, ["only"]).left == 0
    assert ids(tmp_path) == []
    assert traces(tmp_path) == []
    assert ingest([Document("next", "text")], tmp_path, HashingEmbedder(16)).total == 1
    assert ids(tmp_path) == ["next"]


def test_a_crash_on_the_way_is_made_good_by_the_next_writer(
    store: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    class Crash(BaseException):
        pass

    def crash(*given: object) -> None:
        raise Crash

    for owner, name in ((purge, "ask"), (purge, "finish")):
        with monkeypatch.context() as patch:
            patch.setattr(owner, name, crash)
            with pytest.raises(Crash):
                withdraw(store, ["s1", "s2"])
        assert len(ids(store)) in (304, 306)
    assert traces(store), "the second crash left its traces"
    withdraw(store, ["s0", "s3", "s4", "s5"])
    assert traces(store) == []
    assert len(ids(store)) == 300


def test_what_an_unfinished_ingest_staged_survives_a_withdrawal(store: Path) -> None:
    def broken():
        yield from (Document(f"n{i}", f"new {i}") for i in range(4))
        raise DataError("stop")

    with pytest.raises(DataError, match="stop"):
        ingest(broken(), store, HashingEmbedder(16), batch=2)
    withdraw(store, ["s1"])
    assert len(ids(store)) == 305, "nothing of the unfinished ingest shows"
    report = ingest([Document(f"n{i}", f"new {i}") for i in range(4)], store, HashingEmbedder(16))
    assert (report.new, report.unchanged, report.total) == (0, 4, 309)
    opened = DocumentStore(store)
    wanted = HashingEmbedder(16).embed([searchable(document) for document in opened.documents])
    np.testing.assert_array_equal(opened.vectors, wanted)


def test_the_command_names_what_is_not_there(store: Path, tmp_path: Path, capsys) -> None:
    assert main(["source", "withdraw", "--store", str(store), "s1", "nobody"]) == 2
    told = capsys.readouterr()
    assert told.out == f"{store}: 1 withdrawn (1 rows), 305 rows left\n"
    assert "not in the store: nobody; the others are withdrawn" in told.err
    assert main(["source", "withdraw", "--store", str(store), "s2"]) == 0
    with pytest.raises(StoreError, match="no store here"):
        withdraw(tmp_path / "none", ["x"])


def test_an_older_store_is_migrated_and_a_newer_database_refused(store: Path) -> None:
    manifest = read_manifest(store)
    with sqlite3.connect(store / "documents.sqlite") as db:
        db.executescript(
            "DROP INDEX families; ALTER TABLE documents DROP COLUMN parent; DROP TABLE withdrawn;"
            "DROP TABLE state; DROP TABLE reindexed; PRAGMA user_version=0;"
        )
    db.close()
    path = store / "manifest.json"
    path.write_text(manifest.model_copy(update={"format": 1}).model_dump_json(exclude={"backend"}))
    assert len(ids(store)) == 306, "an older store is read as it is"
    assert ingest([*DOCUMENTS, *SECRETS], store, HashingEmbedder(16)).unchanged == 306
    assert withdraw(store, ["s1"]).left == 305
    assert read_manifest(store).format == 2
    with sqlite3.connect(store / "documents.sqlite") as db:
        db.execute("PRAGMA user_version=9")
    db.close()
    with pytest.raises(StoreError, match="format 9, this version reads up to 2; upgrade") as caught:
        withdraw(store, ["s2"])
    assert "\n" not in str(caught.value)
