"""Counts of removed identifiers over restarts, threads, processes and full disks."""

from __future__ import annotations

import json
import logging
import sqlite3
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from core.cli import main
from core.errors import ContractError, StoreError
from core.records import Document
from source_node.ingest import ingest
from source_node.sanitize import DETECTORS
from source_node.sanitize.base import Sanitizer
from source_node.sanitize.ledger import LEDGER, RemovedLedger, read_removed

SECRET = "Dr. Miller called on 2020-01-02 and Mrs. Stone did not."


def test_counts_add_up_over_restarts_and_threads(tmp_path: Path) -> None:
    path = tmp_path / LEDGER
    first, other = RemovedLedger(path), RemovedLedger(path)
    with ThreadPoolExecutor(4) as pool:
        list(pool.map(lambda i: (first, other)[i % 2].add({"name": 2, "date": 1}), range(40)))
    assert other.totals() == {"date": 40, "name": 80}
    first.close()
    other.close()
    assert read_removed(tmp_path) == {"date": 40, "name": 80}
    assert read_removed(tmp_path / "elsewhere") is None


def test_a_sanitizer_tells_numbers_and_nothing_else(tmp_path: Path) -> None:
    ledger = RemovedLedger(tmp_path / LEDGER)
    sanitizer = Sanitizer("patterns", DETECTORS.get("patterns")(), ledger.add)
    for _ in range(3):
        assert "Miller" not in sanitizer.clean(SECRET)
    sanitizer.clean("nothing to see")
    assert ledger.totals() == sanitizer.counts == {"date": 3, "name": 6}
    ledger.close()
    held = b"".join(each.read_bytes() for each in tmp_path.iterdir())
    assert not any(word in held for word in (b"Miller", b"Stone", b"2020"))


def test_a_full_disk_is_told_once_and_loses_no_count(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    ledger = RemovedLedger(tmp_path / LEDGER)
    ledger.add({"name": 1})
    with sqlite3.connect(tmp_path / LEDGER, isolation_level=None, timeout=0.1) as other:
        ledger._db.rows("PRAGMA busy_timeout=10")
        other.execute("BEGIN IMMEDIATE")  # nothing can be written, as on a full disk
        with caplog.at_level(logging.ERROR):
            ledger.add({"name": 2})
            ledger.add({"date": 3})
        assert len(caplog.records) == 1
        assert ledger.totals() == {"name": 1}
        other.execute("ROLLBACK")
    ledger.add({"date": 4})
    assert ledger.totals() == {"date": 7, "name": 3}
    ledger.close()


def test_a_detector_that_fails_does_not_bring_the_text_into_the_log() -> None:
    class Broken:
        def find(self, text: str) -> list:
            raise ValueError(f"cannot read {text}")

    with pytest.raises(ContractError, match="raised ValueError") as caught:
        Sanitizer("mine", Broken()).clean(SECRET)
    assert "Miller" not in str(caught.value)
    assert caught.value.__cause__ is None
    assert caught.value.__suppress_context__


def test_the_operator_sees_counts(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    store = tmp_path / "store"
    stats = ["source", "stats", "--store", str(store)]
    assert main(stats) == 2
    assert "no store here" in capsys.readouterr().err
    assert not store.exists()
    ingest([Document("d", SECRET)], store, None, embedder_name=None)
    assert main(stats) == 0
    lines = ["documents 1", "generation 1", "embedder none"]
    assert capsys.readouterr().out.splitlines() == [
        *lines,
        "identifiers removed: never served with --sanitize",
    ]
    ledger = RemovedLedger(store / LEDGER)
    ledger.add({"name": 2, "date": 1})
    assert main(stats) == 0
    assert capsys.readouterr().out.splitlines() == [*lines, "identifiers removed 3: date 1, name 2"]
    ledger.close()
    assert main([*stats, "--json"]) == 0
    assert json.loads(capsys.readouterr().out) == {
        "documents": 1,
        "generation": 1,
        "embedder": None,
        "identifiers_removed": {"date": 1, "name": 2},
    }


def test_a_file_that_is_no_ledger_is_told(tmp_path: Path) -> None:
    (tmp_path / LEDGER).write_text("not SQLite, and long enough to be looked at as if it were")
    with pytest.raises(StoreError, match="ledger of removed identifiers"):
        read_removed(tmp_path)
