"""Ingest: incremental, resumable, and at every point of a crash the old generation or the new."""

from __future__ import annotations

import os
import random
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from core.embedding.hashing import HashingEmbedder
from core.errors import DataError, EmbeddingError, StoreError
from core.records import Document
from source_node.index import embed_documents
from source_node.ingest import IngestReport, embedder_of, ingest
from source_node.store import DocumentStore, read_manifest
from source_node.writer import StoreWriter


class Counting(HashingEmbedder):
    """Counts what it embeds."""

    def __init__(self, dimension: int = 16) -> None:
        super().__init__(dimension)
        self.embedded = 0

    def embed(self, texts):
        self.embedded += len(texts)
        return super().embed(texts)


def make(texts: dict[str, str]) -> list[Document]:
    return [Document(doc_id, text) for doc_id, text in texts.items()]


def contents(folder: Path) -> dict[str, str]:
    """What a reader sees, after checking that every vector belongs to its document."""
    store = DocumentStore(folder)
    documents = list(store.documents)
    np.testing.assert_array_equal(store.vectors, embed_documents(documents, HashingEmbedder(16)))
    store.close()
    assert len({d.doc_id for d in documents}) == len(documents)
    return {d.doc_id: d.text for d in documents}


def test_only_what_is_new_or_changed_is_embedded(tmp_path: Path) -> None:
    embedder = Counting()
    first = {str(i): f"text {i}" for i in range(20)}
    assert ingest(make(first), tmp_path, embedder, batch=6) == IngestReport(20, 0, 0, 0, 20)
    assert ingest(make(first), tmp_path, embedder) == IngestReport(0, 0, 20, 0, 20)
    assert embedder.embedded == 20
    assert read_manifest(tmp_path).generation == 1, "nothing changed, so nothing moved"

    second = {"3": "text three", "20": "text 20"}
    assert ingest(make(second), tmp_path, embedder) == IngestReport(1, 1, 0, 0, 21)
    assert embedder.embedded == 22
    assert contents(tmp_path) == first | second


def test_a_changed_title_or_category_is_a_change(tmp_path: Path) -> None:
    embedder = Counting()
    ingest([Document("a", "t", "title", "law")], tmp_path, embedder)
    assert ingest([Document("a", "t", "Title", "law")], tmp_path, embedder).changed == 1
    assert ingest([Document("a", "t", "Title", None)], tmp_path, embedder).changed == 1
    assert list(DocumentStore(tmp_path).documents) == [Document("a", "t", "Title")]


def test_prune_removes_what_the_input_lacks(tmp_path: Path) -> None:
    embedder = Counting()
    ingest(make({"a": "1", "b": "2", "c": "3"}), tmp_path, embedder)
    assert ingest(make({"b": "2", "d": "4"}), tmp_path, embedder, prune=True) == IngestReport(1, 0, 1, 2, 2)
    assert contents(tmp_path) == {"b": "2", "d": "4"}


def test_old_files_and_rows_go_after_one_generation(tmp_path: Path) -> None:
    for turn in range(5):
        ingest(make({"a": f"turn {turn}", "b": "stays"}), tmp_path, Counting())
    assert sorted(path.name for path in tmp_path.glob("*.f32")) == ["vectors-4.f32", "vectors-5.f32"]
    import sqlite3

    with sqlite3.connect(tmp_path / "documents.sqlite") as db:
        assert db.execute("SELECT count(*) FROM documents").fetchone() == (3,)
    db.close()


def test_a_bad_line_leaves_the_store_as_it_was_and_the_work_before_it_done(tmp_path: Path) -> None:
    embedder = Counting()
    ingest(make({"old": "0"}), tmp_path, embedder)

    def broken() -> Iterator[Document]:
        yield from make({str(i): f"text {i}" for i in range(10)})
        raise DataError("corpus.jsonl:11: text is empty")

    with pytest.raises(DataError, match=r"corpus\.jsonl:11"):
        ingest(broken(), tmp_path, embedder, batch=4)
    assert contents(tmp_path) == {"old": "0"}
    assert embedder.embedded == 1 + 8
    report = ingest(make({str(i): f"text {i}" for i in range(10)}), tmp_path, embedder, batch=4)
    assert report == IngestReport(2, 0, 8, 0, 11), "two batches of four were kept"
    assert embedder.embedded == 1 + 10


def test_what_an_abandoned_ingest_staged_does_not_leak_into_another(tmp_path: Path) -> None:
    embedder = Counting()
    ingest(make({"a": "old a", "b": "old b"}), tmp_path, embedder)

    def abandoned() -> Iterator[Document]:
        yield from make({"a": "wrong a", "x": "wrong x"})
        raise DataError("stop")

    with pytest.raises(DataError, match="stop"):
        ingest(abandoned(), tmp_path, embedder, batch=1)
    ingest(make({"c": "new c", "b": "new b"}), tmp_path, embedder)
    assert contents(tmp_path) == {"a": "old a", "b": "new b", "c": "new c"}


def test_what_does_not_fit_is_refused(tmp_path: Path) -> None:
    ingest(make({"a": "1"}), tmp_path, Counting(16))
    with pytest.raises(StoreError, match="was made with hashing/16/v1, not with hashing/32/v1"):
        ingest(make({"b": "2"}), tmp_path, Counting(32))
    with pytest.raises(StoreError, match="not with no embedder"):
        ingest(make({"b": "2"}), tmp_path, None)
    with pytest.raises(DataError, match="no documents to ingest"):
        ingest([], tmp_path, Counting(16))
    with pytest.raises(DataError, match="several documents of a batch"):
        ingest([Document("x", "1"), Document("x", "2")], tmp_path, Counting(16))
    assert contents(tmp_path) == {"a": "1"}


def test_the_embedder_of_a_store_is_known(tmp_path: Path) -> None:
    assert embedder_of(tmp_path) is None
    ingest(make({"a": "1"}), tmp_path / "one", Counting(), embedder_name="hashing:16")
    ingest(make({"a": "1"}), tmp_path / "two", None)
    ingest(make({"a": "1"}), tmp_path / "three", Counting())
    assert [embedder_of(tmp_path / n) for n in ("one", "two", "three")] == ["hashing:16", "none", None]


def test_a_bad_vector_ends_the_ingest(tmp_path: Path) -> None:
    class Broken(Counting):
        def embed(self, texts):
            return np.full((len(texts), 16), np.nan, dtype=np.float32)

    with pytest.raises(EmbeddingError, match="NaN"):
        ingest(make({"a": "1"}), tmp_path, Broken())
    with pytest.raises(StoreError, match="the first ingest has not finished"):
        DocumentStore(tmp_path)


def test_two_ingests_at_once_are_refused(tmp_path: Path) -> None:
    def while_running() -> Iterator[Document]:
        with pytest.raises(StoreError, match="another ingest is writing"):
            ingest(make({"b": "2"}), tmp_path, Counting())
        yield Document("a", "1")

    ingest(while_running(), tmp_path, Counting())
    assert contents(tmp_path) == {"a": "1"}


def test_a_folder_that_cannot_be_made_is_named(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    with pytest.raises(StoreError, match="file/store: cannot be a store folder"):
        ingest(make({"a": "1"}), tmp_path / "file" / "store", Counting())


def test_progress_is_told(tmp_path: Path) -> None:
    seen: list[int] = []
    ingest(make({str(i): "t" for i in range(10)}), tmp_path, Counting(), batch=4, progress=seen.append)
    assert seen == [4, 8, 10]


OLD = {str(i): f"old {i}" for i in range(8)}
NEW = {str(i): f"{'old' if i % 3 else 'new'} {i}" for i in range(4, 14)}


class Crash(BaseException):
    """The power goes."""


def count_steps(patch: pytest.MonkeyPatch, stop_at: int | None) -> list[int]:
    """Counts durable steps (syncs, renames, deletions); the process "dies" before step `stop_at`."""
    steps = [0]

    def wrap(owner: object, name: str) -> None:
        original = getattr(owner, name)

        def step(*args, **kwargs):
            if stop_at is not None and steps[0] >= stop_at:
                raise Crash
            steps[0] += 1
            return None if name == "fsync" else original(*args, **kwargs)  # only the process dies here

        patch.setattr(owner, name, step)

    wrap(os, "fsync")
    wrap(os, "truncate")
    wrap(Path, "replace")
    wrap(Path, "unlink")
    wrap(StoreWriter, "remove")
    return steps


@pytest.mark.parametrize("prune", [False, True])
@pytest.mark.parametrize("new", [NEW, {"20": "only added"}], ids=["changes", "additions"])
def test_a_crash_at_any_step_leaves_old_or_new_and_a_second_run_finishes(
    tmp_path: Path, prune: bool, new: dict[str, str]
) -> None:
    wanted = new if prune else OLD | new
    with pytest.MonkeyPatch.context() as patch:
        total = count_steps(patch, None)
        ingest(make(OLD), tmp_path / "dry", Counting(), batch=4)
        total[0] = 0
        ingest(make(new), tmp_path / "dry", Counting(), batch=4, prune=prune)
    assert contents(tmp_path / "dry") == wanted
    assert total[0] >= 5
    for step in range(total[0]):
        folder = tmp_path / str(step)
        ingest(make(OLD), folder, Counting(), batch=4)
        with pytest.MonkeyPatch.context() as patch:
            count_steps(patch, step)
            with pytest.raises(Crash):
                ingest(make(new), folder, Counting(), batch=4, prune=prune)
        assert contents(folder) in (OLD, wanted), f"crash before step {step}"
        ingest(make(new), folder, Counting(), batch=4, prune=prune)
        assert contents(folder) == wanted, f"after a crash before step {step}"


texts = st.dictionaries(st.sampled_from("abcdefgh"), st.sampled_from(["one", "two", "three"]), min_size=1)


@settings(max_examples=25, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.lists(st.tuples(texts, st.booleans(), st.none() | st.integers(0, 12)), min_size=1, max_size=5))
def test_any_history_with_crashes_ends_where_it_should(
    tmp_path_factory: pytest.TempPathFactory, history: list[tuple[dict[str, str], bool, int | None]]
) -> None:
    folder = tmp_path_factory.mktemp("history")
    held: dict[str, str] = {}
    for new, prune, crash_at in history:
        if crash_at is not None:
            with pytest.MonkeyPatch.context() as patch:
                count_steps(patch, crash_at)
                try:
                    ingest(make(new), folder, Counting(), batch=2, prune=prune)
                except Crash:
                    continue_from = contents(folder) if read_manifest(folder) else {}
                    assert continue_from in (held, dict(new) if prune else held | new)
                    held = continue_from
                    continue
        else:
            ingest(make(new), folder, Counting(), batch=2, prune=prune)
        held = dict(new) if prune else held | new
        assert contents(folder) == held


SLOW_INGEST = """
import sys, time
from core.embedding.hashing import HashingEmbedder
from core.records import Document
from source_node.ingest import ingest

class Slow(HashingEmbedder):
    def embed(self, texts):
        time.sleep(0.005)
        return super().embed(texts)

ingest((Document(str(i), f"text {i}") for i in range(400)), sys.argv[1], Slow(16), batch=4,
       progress=lambda done: print(done, flush=True))
"""


def test_an_ingest_that_is_killed_goes_on_where_it_was(tmp_path: Path, repository: Path) -> None:
    draw = random.Random(0)
    for _ in range(3):
        process = subprocess.Popen(
            [sys.executable, "-c", SLOW_INGEST, str(tmp_path)],
            cwd=repository,
            stdout=subprocess.PIPE,
            text=True,
        )
        assert process.stdout is not None
        process.stdout.readline()
        time.sleep(draw.uniform(0.0, 0.1))
        process.send_signal(signal.SIGKILL)
        process.wait(10)
        process.stdout.close()
    embedder = Counting()
    report = ingest((Document(str(i), f"text {i}") for i in range(400)), tmp_path, embedder, batch=64)
    assert report.total == 400
    assert report.unchanged > 0
    assert embedder.embedded == report.new == 400 - report.unchanged
    assert contents(tmp_path) == {str(i): f"text {i}" for i in range(400)}
