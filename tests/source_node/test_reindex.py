"""A re-index beside a serving node: resumable, complete whatever happens meanwhile, switched at once."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from core.cli import main
from core.embedding.hashing import HashingEmbedder
from core.errors import DataError, EmbeddingError, StoreError
from core.records import Document, Query
from source_node.index import searchable
from source_node.ingest import ingest
from source_node.live import LiveNode
from source_node.node import SourceNode
from source_node.reindex import reindex
from source_node.store import DocumentStore
from source_node.withdraw import withdraw

DOCUMENTS = [Document(str(i), f"text about thing{i}") for i in range(40)]
OLD, NEW = HashingEmbedder(16), HashingEmbedder(24)


class Interrupted(HashingEmbedder):
    """Does something in the middle, once."""

    def __init__(self, action) -> None:
        super().__init__(24)
        self.action = action
        self.embedded = 0

    def embed(self, texts):
        self.embedded += len(texts)
        if self.embedded > 10 and self.action is not None:
            action, self.action = self.action, None
            action()
        return super().embed(texts)


def check(folder: Path, wanted: dict[str, str]) -> None:
    store = DocumentStore(folder)
    assert {d.doc_id: d.text for d in store.documents} == wanted
    np.testing.assert_array_equal(store.vectors, NEW.embed([searchable(d) for d in store.documents]))
    assert (store.manifest.identity, store.manifest.embedder) == (NEW.identity, "hashing:24")
    assert sorted(path.name for path in folder.glob("*.f32") if "index" in path.name) == []


@pytest.fixture
def store(tmp_path: Path) -> Path:
    ingest(DOCUMENTS, tmp_path, OLD, embedder_name="hashing:16")
    return tmp_path


def test_documents_stay_and_vectors_are_the_new_ones(store: Path) -> None:
    assert reindex(store, NEW, "hashing:24", batch=7).generation == 2
    check(store, {d.doc_id: d.text for d in DOCUMENTS})
    assert reindex(store, NEW, "hashing:24").generation == 2, "nothing to do"
    assert ingest([Document("x", "more")], store, NEW).total == 41
    with pytest.raises(StoreError, match="was made with hashing/24/v1, not with hashing/16/v1"):
        ingest(DOCUMENTS, store, OLD)


def test_it_goes_on_where_it_was(store: Path) -> None:
    def fail() -> None:
        raise EmbeddingError("gone")

    broken = Interrupted(fail)
    with pytest.raises(EmbeddingError, match="gone"):
        reindex(store, broken, "hashing:24", batch=6)
    assert DocumentStore(store).manifest.identity == OLD.identity
    again = Interrupted(None)
    reindex(store, again, "hashing:24", batch=6)
    assert again.embedded == 40 - 6
    check(store, {d.doc_id: d.text for d in DOCUMENTS})


def test_what_changes_meanwhile_is_in_it(store: Path) -> None:
    def meanwhile() -> None:
        ingest([Document("1", "changed"), Document("new", "added")], store, OLD)
        withdraw(store, ["2", "39"])

    reindex(store, Interrupted(meanwhile), "hashing:24", batch=8)
    wanted = {d.doc_id: d.text for d in DOCUMENTS} | {"1": "changed", "new": "added"}
    check(store, {name: text for name, text in wanted.items() if name not in ("2", "39")})


def test_an_unfinished_ingest_is_dropped_at_the_switch(store: Path) -> None:
    def broken():
        yield Document("1", "wrong")
        raise DataError("stop")

    with pytest.raises(DataError, match="stop"):
        ingest(broken(), store, OLD, batch=1)
    reindex(store, NEW, "hashing:24")
    check(store, {d.doc_id: d.text for d in DOCUMENTS})


def test_a_serving_node_takes_the_change_over(store: Path) -> None:
    node = LiveNode(store, lambda: SourceNode.open(store, "clinic"), every_s=3600)
    try:
        ask = Query("text about thing7")
        assert node.retrieve(ask, 1).documents[0].doc_id == "7"
        assert node.describe().embedder == OLD.identity
        assert not node.refresh()
        reindex(store, NEW, "hashing:24")
        assert node.retrieve(ask, 1).documents[0].doc_id == "7", "still by the old vectors"
        assert node.refresh()
        assert node.describe().embedder == NEW.identity
        assert node.retrieve(ask, 1).documents[0].doc_id == "7"
    finally:
        node.close()


def test_the_command(store: Path, tmp_path: Path, capsys) -> None:
    assert main(["source", "reindex", "--store", str(store), "--embedder", "hashing:24"]) == 0
    assert capsys.readouterr().out == f"{store}: 40 vectors of {NEW.identity}\n"
    assert main(["source", "reindex", "--store", str(tmp_path / "none"), "--embedder", "hashing:24"]) == 2
    assert "no store here" in capsys.readouterr().err
