"""Both indexes give what a full sort gives."""

from __future__ import annotations

import logging
from pathlib import Path

import numpy as np
import pytest

from core.embedding.hashing import HashingEmbedder
from core.errors import ConfigError, EmbeddingError
from core.records import Document
from source_node import vector_index
from source_node.faiss_index import FaissIndex
from source_node.retrievers.dense import DenseRetriever
from source_node.vector_index import ExactIndex, open_index


def unit(rng: np.random.Generator, *shape: int) -> np.ndarray:
    rows = rng.standard_normal(shape, dtype=np.float32)
    return rows / np.linalg.norm(rows, axis=-1, keepdims=True)


@pytest.mark.parametrize("kind", ["exact", "faiss"])
def test_the_nearest_come_first_and_ties_by_id(kind: str) -> None:
    rng = np.random.default_rng(0)
    vectors = unit(rng, 3000, 24)
    vectors[[5, 1700, 2999]] = vectors[44]
    ranks = rng.permutation(3000).astype(np.int32)
    index = open_index(vectors, ranks, kind)
    assert isinstance(index, FaissIndex if kind == "faiss" else ExactIndex)
    for query in (*unit(rng, 20, 24), vectors[44]):
        scores = np.round(vectors @ query, 6)
        wanted = sorted(range(3000), key=lambda i: (-scores[i], ranks[i]))[:10]
        rows, cosines = index.search(query, 10)
        assert rows.tolist() == wanted
        np.testing.assert_allclose(cosines, scores[wanted], atol=2e-6)
    assert len(index.search(vectors[0], 5000)[0]) == 3000
    with pytest.raises(EmbeddingError, match=r"the query has \(3,\), the documents \(24,\)"):
        index.search(np.ones(3, dtype=np.float32), 1)


@pytest.mark.parametrize("shards", [1, 3, 7])
def test_shards_cover_everything_mapped_vectors_too(tmp_path: Path, shards: int) -> None:
    rng = np.random.default_rng(1)
    unit(rng, 50, 8).astype("<f4").tofile(tmp_path / "v.f32")
    vectors = np.memmap(tmp_path / "v.f32", "<f4", "r", shape=(50, 8))
    index = FaissIndex(vectors, np.arange(50, dtype=np.int32), shards)
    for row in range(50):
        assert index.search(np.asarray(vectors[row]), 1)[0].tolist() == [row]


def test_auto_goes_by_size(monkeypatch: pytest.MonkeyPatch, caplog) -> None:
    monkeypatch.setattr(vector_index, "EXACT_UP_TO", 10)
    vectors, ranks = np.eye(12, dtype=np.float32), np.arange(12, dtype=np.int32)
    assert isinstance(open_index(vectors, ranks), FaissIndex)
    assert isinstance(open_index(vectors[:10], ranks[:10]), ExactIndex)
    monkeypatch.setattr("importlib.util.find_spec", lambda name: None)
    with caplog.at_level(logging.WARNING):
        assert isinstance(open_index(vectors, ranks), ExactIndex)
    assert "securecollarag[faiss]" in caplog.text


def test_a_retriever_takes_the_index_that_it_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    documents = [Document(str(i), f"word{i} text") for i in range(9)]
    embedder = HashingEmbedder(64)
    query = embedder.embed(["word4"])[0]
    exact = DenseRetriever(documents, None, embedder).search("", query, 4)
    assert DenseRetriever(documents, None, embedder, index="faiss").search("", query, 4) == exact
    with pytest.raises(ConfigError, match="index"):
        DenseRetriever(documents, None, embedder, index="hnsw")


def _held_kib(path: Path) -> int:
    """Memory of this process that maps `path`, in KiB."""
    held, ours = 0, False
    for line in Path("/proc/self/smaps").read_text().splitlines():
        if "-" in line.split(" ", 1)[0]:
            ours = line.endswith(str(path))
        elif ours and line.startswith("Rss:"):
            held += int(line.split()[1])
    return held


@pytest.mark.skipif(
    not Path("/proc/self/smaps").exists(), reason="Linux tells what a process holds of a file"
)
def test_vectors_on_disk_stay_there(tmp_path: Path) -> None:
    rng, path = np.random.default_rng(2), tmp_path / "vectors.f32"
    unit(rng, 20_000, 64).tofile(path)
    vectors = np.memmap(path, dtype=np.float32, mode="r", shape=(20_000, 64))
    index = FaissIndex(vectors, np.arange(20_000, dtype=np.int32))
    exact = ExactIndex(np.array(vectors), np.arange(20_000, dtype=np.int32))
    for query in unit(rng, 50, 64):
        assert index.search(query, 5)[0].tolist() == exact.search(query, 5)[0].tolist()
    assert _held_kib(path) == 0
    vectors.sum()
    assert _held_kib(path) == 5_000, "what is looked at is counted"
