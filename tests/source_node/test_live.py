"""A node that follows its store."""

from __future__ import annotations

import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from core.embedding.hashing import HashingEmbedder
from core.errors import StoreError
from core.records import Document, Query
from source_node.ingest import ingest
from source_node.live import LiveNode
from source_node.node import SourceNode
from source_node.withdraw import withdraw

DOCUMENTS = [Document(str(i), f"text about thing{i}") for i in range(20)]
ASK = Query("text about thing7")


@pytest.fixture
def store(tmp_path: Path) -> Path:
    ingest(DOCUMENTS, tmp_path, HashingEmbedder(64), embedder_name="hashing:64")
    return tmp_path


@pytest.fixture
def still(store: Path) -> Iterator[LiveNode]:
    """A node that looks at its store only when it is told to."""
    node = LiveNode(store, lambda: SourceNode.open(store, "clinic"), every_s=3600)
    yield node
    node.close()


def found(node: LiveNode, count: int = 3) -> list[str]:
    return [document.doc_id for document in node.retrieve(ASK, count).documents]


def test_a_withdrawn_document_is_not_answered_with_even_before_the_change_is_seen(
    store: Path, still: LiveNode
) -> None:
    assert found(still)[0] == "7"
    withdraw(store, ["7"])
    before = found(still)
    assert "7" not in before
    assert [d.rank for d in still.retrieve(ASK, 3).documents] == [1, 2]
    assert still.refresh()
    assert len(found(still)) == 3
    assert "7" not in found(still)


def test_a_store_that_was_filled_anew_is_opened_within_the_request(store: Path, still: LiveNode) -> None:
    ingest([Document("other", "text about thing7")], store, HashingEmbedder(64), prune=True)
    assert found(still) == ["other"]


def test_a_store_that_breaks_leaves_the_node_as_it_is(store: Path, still: LiveNode, caplog) -> None:
    (store / "manifest.json").write_text("{")
    assert not still.refresh()
    assert "what was served before stays" in caplog.text
    assert found(still)[0] == "7"
    with pytest.raises(StoreError):
        LiveNode(store, lambda: SourceNode.open(store, "clinic"))


def test_the_watcher_notices_by_itself(store: Path) -> None:
    node = LiveNode(store, lambda: SourceNode.open(store, "clinic"), every_s=0.01)
    try:
        ingest([Document("fresh", "text about thing7 thing7")], store, HashingEmbedder(64))
        end = time.monotonic() + 60
        while len(node.documents) != 21:
            assert time.monotonic() < end
            time.sleep(0.01)
        assert (node.source_id, node.sanitizer) == ("clinic", None)
    finally:
        node.close()
