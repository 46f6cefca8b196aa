"""What a reader of a store sees, and what it says where it cannot."""

from __future__ import annotations

import json
import sqlite3
from pathlib import Path

import numpy as np
import pytest

from core.embedding.hashing import HashingEmbedder
from core.errors import StoreError
from core.records import Document
from source_node.index import embed_documents
from source_node.ingest import ingest
from source_node.store import DATABASE, MANIFEST, DocumentStore, read_manifest

EMBEDDER = HashingEmbedder(32)
DOCUMENTS = [
    Document(
        f"d{(i * 7) % 2500:04d}",
        f"text number {i}",
        f"title {i % 3}" if i % 2 else "",
        "law" if i % 5 else None,
    )
    for i in range(2500)
]


@pytest.fixture
def store(tmp_path: Path) -> Path:
    ingest(DOCUMENTS, tmp_path, EMBEDDER, embedder_name="hashing:32", batch=700)
    return tmp_path


def test_documents_and_vectors_come_back_in_order(store: Path) -> None:
    opened = DocumentStore(store)
    assert len(opened.documents) == 2500
    assert list(opened.documents) == DOCUMENTS
    assert opened.documents[1234] == DOCUMENTS[1234]
    assert opened.documents[-1] == DOCUMENTS[-1]
    assert opened.documents[10:13] == DOCUMENTS[10:13]
    with pytest.raises(IndexError):
        opened.documents[2500]
    assert opened.vectors is not None
    np.testing.assert_allclose(opened.vectors, embed_documents(DOCUMENTS, EMBEDDER), atol=1e-6)
    assert isinstance(opened.vectors, np.memmap)
    assert not opened.vectors.flags.writeable


def test_ranks_are_the_order_of_the_ids(store: Path) -> None:
    ranks = DocumentStore(store).documents.id_ranks()
    assert [DOCUMENTS[i].doc_id for i in np.argsort(ranks)] == sorted(d.doc_id for d in DOCUMENTS)


def test_the_manifest_says_what_the_store_is(store: Path) -> None:
    manifest = read_manifest(store)
    assert manifest is not None
    assert manifest.model_dump() == {
        "format": 2,
        "generation": 1,
        "n_documents": 2500,
        "embedder": "hashing:32",
        "identity": "hashing/32/v1",
        "dimension": 32,
        "vectors": "vectors-1.f32",
        "backend": None,
    }


def test_a_store_without_an_embedder_has_no_vectors(tmp_path: Path) -> None:
    ingest(DOCUMENTS[:3], tmp_path, None)
    assert DocumentStore(tmp_path).vectors is None


def change_manifest(store: Path, **fields: object) -> None:
    path = store / MANIFEST
    path.write_text(json.dumps({**json.loads(path.read_text()), **fields}))


@pytest.mark.parametrize(
    ("damage", "problem"),
    [
        (
            lambda s: change_manifest(s, format=3),
            "store of format 3, this version reads up to 2; upgrade securecollarag",
        ),
        (lambda s: change_manifest(s, colour="red"), "unknown key 'colour'"),
        (lambda s: change_manifest(s, n_documents=2499), "2500 documents where the manifest says 2499"),
        (lambda s: (s / MANIFEST).write_text("{"), "not a manifest"),
        (lambda s: (s / MANIFEST).write_text("[]"), "store of format None is unknown"),
        (lambda s: (s / "vectors-1.f32").unlink(), r"vectors-1\.f32: missing"),
        (lambda s: (s / "vectors-1.f32").write_bytes(b"x"), "1 bytes where 320000 are due"),
        (lambda s: (s / DATABASE).write_bytes(b"nonsense" * 999), "not a usable document database"),
        (lambda s: (s / DATABASE).unlink(), "not a usable document database"),
    ],
)
def test_a_damaged_store_is_one_clear_line(store: Path, damage, problem: str) -> None:
    damage(store)
    with pytest.raises(StoreError, match=problem) as caught:
        DocumentStore(store)
    assert "\n" not in str(caught.value)


def test_no_store_and_an_unfinished_one_say_what_to_do(tmp_path: Path) -> None:
    with pytest.raises(StoreError, match="no store here; run: scr source ingest"):
        DocumentStore(tmp_path)
    sqlite3.connect(tmp_path / DATABASE).close()
    (tmp_path / DATABASE).touch()
    with pytest.raises(StoreError, match="the first ingest has not finished; run: scr source ingest"):
        DocumentStore(tmp_path)


def test_a_reader_keeps_its_generation_while_the_store_moves_on(store: Path) -> None:
    before = DocumentStore(store)
    changed = [Document(d.doc_id, d.text + " revised", d.title) for d in DOCUMENTS]
    ingest(changed, store, EMBEDDER)
    assert before.documents[5] == DOCUMENTS[5]
    assert before.documents[2000] == DOCUMENTS[2000]
    np.testing.assert_allclose(before.vectors, embed_documents(DOCUMENTS, EMBEDDER), atol=1e-6)
    after = DocumentStore(store)
    assert list(after.documents) == changed
    np.testing.assert_allclose(after.vectors, embed_documents(changed, EMBEDDER), atol=1e-6)


def test_a_reader_two_generations_behind_is_told_to_restart(store: Path) -> None:
    before = DocumentStore(store)
    for text in ("second", "third"):
        ingest([Document(d.doc_id, text) for d in DOCUMENTS[:5]], store, EMBEDDER)
    with pytest.raises(StoreError, match="restart the node"):
        before.documents[0]


def test_a_closed_store_says_so(store: Path) -> None:
    opened = DocumentStore(store)
    opened.close()
    with pytest.raises(StoreError, match="cannot be read"):
        opened.documents[0]
