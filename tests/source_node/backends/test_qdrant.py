"""An existing Qdrant collection (a local one) behind a node."""

from __future__ import annotations

from pathlib import Path

import pytest

from core.cli import main
from core.embedding.hashing import HashingEmbedder
from core.errors import ConfigError, StoreError
from core.records import Document, Query
from source_node.backends.qdrant import QdrantCollection
from source_node.ingest import ingest
from source_node.node import SourceNode
from tests.qdrant_server import local_collection, serving

qdrant = pytest.importorskip("qdrant_client")
EMBEDDER = HashingEmbedder(64)
TEXTS = {1: "Zinc is mined in Peru.", 2: "Copper wire conducts.", 3: "Gold was found in California."}


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A local Qdrant with a collection that somebody else filled."""
    from qdrant_client.models import Distance, PointStruct, VectorParams

    client = qdrant.QdrantClient(path=str(tmp_path / "qdrant"))
    client.create_collection("notes", VectorParams(size=64, distance=Distance.COSINE))
    vectors = EMBEDDER.embed(list(TEXTS.values()))
    client.upsert(
        "notes",
        [
            PointStruct(id=i, vector=v.tolist(), payload={"text": t, "name": f"n{i}", "category": "metal"})
            for (i, t), v in zip(TEXTS.items(), vectors, strict=True)
        ],
    )
    client.close()
    return tmp_path / "qdrant"


def test_a_node_answers_from_an_attached_collection(folder: Path, tmp_path: Path, capsys) -> None:
    store = tmp_path / "store"
    options = [f"path={folder}", "collection=notes", "title_field=name"]
    flags = [part for option in options for part in ("--option", option)]
    attach = ["source", "attach", "--store", str(store), "--backend", "qdrant", *flags]
    assert main([*attach, "--embedder", "hashing:32"]) == 2
    assert "vectors of 64 numbers, hashing/32/v1 makes 32" in capsys.readouterr().err
    assert main([*attach, "--embedder", "hashing:64"]) == 0
    assert capsys.readouterr().out == f"{store}: 3 documents in a qdrant collection\n"
    node = SourceNode.open(store, "clinic")
    best, second = node.retrieve(Query("zinc in Peru"), 2).documents
    assert (best.doc_id, best.text, best.title, best.category) == ("1", TEXTS[1], "n1", "metal")
    assert best.score > second.score
    assert node.retrieve(Query("zinc"), 2, categories={"wood"}).documents == ()
    assert (node.describe().n_documents, node.describe().embedder) == (3, EMBEDDER.identity)
    with pytest.raises(StoreError, match="its documents are in a qdrant collection"):
        ingest([Document("a", "b")], store, EMBEDDER)
    with pytest.raises(ConfigError, match="has its own retrieval"):
        SourceNode.open(store, "clinic", retriever="bm25")


def test_what_does_not_fit_is_one_line(folder: Path) -> None:
    with pytest.raises(ConfigError, match="either url or path"):
        QdrantCollection(collection="notes")
    with pytest.raises(StoreError, match="Qdrant collection other: "):
        QdrantCollection(collection="other", path=str(folder))


def test_a_collection_is_read_over_http() -> None:
    payloads = {i: {"text": text, "title": f"n{i}"} for i, text in TEXTS.items()}
    local = local_collection("notes", payloads, EMBEDDER)
    with serving(local) as url:
        remote = qdrant.QdrantClient(url=url, check_compatibility=False)  # a thread that outlives the server
        collection = QdrantCollection(remote, collection="notes")
        assert (len(collection), collection.dimension) == (3, 64)
        ((document, score),) = collection.nearest(EMBEDDER.embed([TEXTS[2]])[0], 1)
        assert (document.doc_id, document.text, document.title) == ("2", TEXTS[2], "n2")
        assert score == pytest.approx(1.0, abs=1e-5)
        with pytest.raises(StoreError, match=r"Qdrant collection other: .*404"):
            QdrantCollection(remote, collection="other")
        remote.close()
    local.close()
