from __future__ import annotations

import multiprocessing
import sqlite3
import threading
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from core.embedding import open_embedder
from core.embedding.base import Embedder, Vectors
from core.embedding.cache import CachedEmbedder, VectorStore
from core.embedding.hashing import HashingEmbedder
from core.errors import EmbeddingError, StoreError


class Counting(HashingEmbedder):
    """Counts what reaches it."""

    def __init__(self, dimension: int = 16) -> None:
        super().__init__(dimension)
        self.texts: list[str] = []

    def embed(self, texts: Sequence[str]) -> Vectors:
        self.texts.extend(texts)
        return super().embed(texts)


class Broken(HashingEmbedder):
    def embed(self, texts: Sequence[str]) -> Vectors:
        return np.full((len(texts), self.dimension), np.nan, dtype=np.float32)


@given(st.lists(st.lists(st.text(max_size=6), max_size=6), max_size=4), st.integers(1, 4))
def test_same_vectors_as_without_and_each_text_once(calls: list[list[str]], batch: int) -> None:
    inner = Counting()
    cached = CachedEmbedder(inner, batch=batch)
    for texts in calls:
        assert np.array_equal(cached.embed(texts), HashingEmbedder(16).embed(texts))
    distinct = {text for texts in calls for text in texts}
    assert sorted(inner.texts) == sorted(distinct)
    assert cached.misses == len(distinct)


@given(st.lists(st.lists(st.sampled_from("abcdefg"), max_size=7), max_size=6), st.integers(1, 5))
def test_same_vectors_however_little_memory_there_is(calls: list[list[str]], memory: int) -> None:
    cached = CachedEmbedder(HashingEmbedder(16), memory=memory)
    for texts in calls:
        assert np.array_equal(cached.embed(texts), HashingEmbedder(16).embed(texts))


def test_it_is_an_embedder_and_passes_on_what_it_wraps() -> None:
    cached = CachedEmbedder(HashingEmbedder(16))
    assert isinstance(cached, Embedder)
    assert (cached.identity, cached.dimension) == ("hashing/16/v1", 16)
    assert cached.embed([]).shape == (0, 16)


def test_callers_cannot_change_what_is_cached() -> None:
    cached = CachedEmbedder(HashingEmbedder(16))
    first = cached.embed(["a fact"])
    expected = first.copy()
    first[:] = 7
    assert np.array_equal(cached.embed(["a fact"]), expected)


def test_a_store_survives_the_process_and_serves_it(tmp_path: Path) -> None:
    path = tmp_path / "v.sqlite"
    before = CachedEmbedder(HashingEmbedder(16), VectorStore(path)).embed(["a", "b"])
    inner = Counting()
    cached = CachedEmbedder(inner, VectorStore(path))
    assert np.array_equal(cached.embed(["b", "a"]), before[::-1])
    assert inner.texts == []
    assert (cached.hits, cached.misses) == (2, 0)


def test_embedders_do_not_share_vectors(tmp_path: Path) -> None:
    store = VectorStore(tmp_path / "v.sqlite")
    CachedEmbedder(HashingEmbedder(16), store).embed(["a"])
    assert CachedEmbedder(HashingEmbedder(32), store).embed(["a"]).shape == (1, 32)


def test_memory_is_bounded_and_forgets_the_oldest() -> None:
    inner = Counting()
    cached = CachedEmbedder(inner, memory=2)
    cached.embed(["a", "b"])
    cached.embed(["a"])
    cached.embed(["c"])
    cached.embed(["a"])
    assert inner.texts == ["a", "b", "c"]
    cached.embed(["b"])
    assert inner.texts == ["a", "b", "c", "b"]
    many = [str(i) for i in range(10)]
    assert np.array_equal(cached.embed(many), HashingEmbedder(16).embed(many))


def test_more_texts_than_sqlite_has_variables(tmp_path: Path) -> None:
    texts = [f"text {i}" for i in range(1203)]
    store = VectorStore(tmp_path / "v.sqlite")
    expected = CachedEmbedder(HashingEmbedder(16), store).embed(texts)
    again = CachedEmbedder(HashingEmbedder(16), store)
    assert np.array_equal(again.embed(texts), expected)
    assert again.misses == 0


def test_threads_share_one_cache(tmp_path: Path) -> None:
    inner = Counting()
    cached = CachedEmbedder(inner, VectorStore(tmp_path / "v.sqlite"))
    texts = [f"text {i}" for i in range(60)]
    expected = HashingEmbedder(16).embed(texts)
    wrong: list[int] = []

    def work(start: int) -> None:
        for offset in range(20):
            pick = [(start + offset + i) % 60 for i in range(7)]
            if not np.array_equal(cached.embed([texts[i] for i in pick]), expected[pick]):
                wrong.append(start)

    threads = [threading.Thread(target=work, args=(7 * i,)) for i in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert wrong == []
    assert len(inner.texts) == len(set(inner.texts))


def _fill(path: Path, start: int) -> None:
    cached = CachedEmbedder(HashingEmbedder(16), VectorStore(path), batch=5)
    cached.embed([f"text {i}" for i in range(start, start + 60)])


def test_processes_share_one_store(tmp_path: Path) -> None:
    path = tmp_path / "v.sqlite"
    context = multiprocessing.get_context("spawn")
    processes = [context.Process(target=_fill, args=(path, 20 * i)) for i in range(3)]
    for process in processes:
        process.start()
    for process in processes:
        process.join()
    assert [process.exitcode for process in processes] == [0, 0, 0]
    texts = [f"text {i}" for i in range(100)]
    cached = CachedEmbedder(Counting(), VectorStore(path))
    assert np.array_equal(cached.embed(texts), HashingEmbedder(16).embed(texts))
    assert cached.misses == 0


def test_a_file_that_is_no_store_is_one_line(tmp_path: Path) -> None:
    path = tmp_path / "v.sqlite"
    path.write_bytes(b"this is not a database, whatever its name says" * 50)
    with pytest.raises(StoreError, match=r"v\.sqlite: not a usable embedding cache .*; delete it"):
        VectorStore(path)


def test_a_store_damaged_later_is_one_line(tmp_path: Path) -> None:
    path = tmp_path / "v.sqlite"
    store = VectorStore(path)
    CachedEmbedder(HashingEmbedder(256), store).embed([f"text {i}" for i in range(200)])
    store.close()
    size = path.stat().st_size
    with path.open("r+b") as file:
        file.seek(4096)
        file.write(b"\xff" * (size - 4096))
    damaged = CachedEmbedder(HashingEmbedder(256), VectorStore(path))
    with pytest.raises(StoreError, match="delete it"):
        damaged.embed([f"text {i}" for i in range(200)])


def test_a_locked_store_is_not_called_broken(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "v.sqlite"
    store = VectorStore(path)
    store._db.execute("PRAGMA busy_timeout=10")
    holder = sqlite3.connect(path)
    holder.execute("BEGIN EXCLUSIVE")
    with pytest.raises(StoreError, match=r"cannot be used \(database is locked\)"):
        store.write("x", {"h": b"1234"})
    holder.rollback()
    holder.close()


def test_nan_never_enters_the_cache(tmp_path: Path) -> None:
    store = VectorStore(tmp_path / "v.sqlite")
    with pytest.raises(EmbeddingError, match="NaN"):
        CachedEmbedder(Broken(16), store).embed(["a"])
    assert np.isfinite(CachedEmbedder(HashingEmbedder(16), store).embed(["a"])).all()


def test_open_embedder_puts_its_store_into_the_cache_folder(scr_cache: Path) -> None:
    cached = open_embedder("hashing:64")
    assert cached.embed(["a"]).shape == (1, 64)
    assert (scr_cache / "embeddings.sqlite").is_file()
    assert open_embedder("hashing", memory_only=True).store is None
