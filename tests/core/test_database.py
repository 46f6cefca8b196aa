from __future__ import annotations

import resource
import sqlite3
import subprocess
import sys
from pathlib import Path

import pytest

from core.database import Database
from core.errors import StoreError

SCHEMA = "CREATE TABLE IF NOT EXISTS notes (n INTEGER PRIMARY KEY, text TEXT);"


def test_two_kinds_of_state_share_a_file(tmp_path: Path) -> None:
    path = tmp_path / "sub" / "state.sqlite"
    first = Database(path, SCHEMA, "notes", 1)
    second = Database(path, "CREATE TABLE IF NOT EXISTS others (n INTEGER);", "others")
    with first.transaction():
        assert first.write("INSERT INTO notes VALUES (1, 'a')") == 1
    with second.transaction():
        second.write("INSERT INTO others VALUES (7)")
    assert second.row("SELECT text FROM notes") == ("a",)
    first.close()
    second.close()
    again = Database(path, SCHEMA, "notes", 1)
    assert again.rows("SELECT n FROM others") == [(7,)]
    again.close()
    with pytest.raises(StoreError, match="version 1, this program reads 2"):
        Database(path, SCHEMA, "notes", 2)


def test_a_transaction_is_whole_or_nothing_and_nests(tmp_path: Path) -> None:
    database = Database(tmp_path / "state.sqlite", SCHEMA, "notes")

    def interrupted() -> None:
        with database.transaction():
            with database.transaction():
                database.write("INSERT INTO notes VALUES (1, 'inner')")
            raise RuntimeError

    with pytest.raises(RuntimeError):
        interrupted()
    assert database.rows("SELECT * FROM notes") == []
    with database.transaction():
        database.write_all("INSERT INTO notes VALUES (?, ?)", [(1, "a"), (2, "b")])
    assert database.row("SELECT count(*) FROM notes") == (2,)
    assert database.row("SELECT * FROM notes WHERE n=9") is None
    database.close()


def test_a_full_disk_undoes_the_write_and_the_next_one_works(tmp_path: Path) -> None:
    path = tmp_path / "state.sqlite"
    code = f"""
import resource, sqlite3
from pathlib import Path
from core.database import Database
database = Database(Path({str(path)!r}), {SCHEMA!r}, "notes")
with database.transaction():
    database.write("INSERT INTO notes VALUES (1, 'kept')")
soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
resource.setrlimit(resource.RLIMIT_FSIZE, (20_000, hard))
try:
    with database.transaction():
        database.write("INSERT INTO notes VALUES (2, ?)", ("x" * 100_000,))
    print("no error")
except sqlite3.Error:
    print("refused")
resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
with database.transaction():
    database.write("INSERT INTO notes VALUES (3, 'kept too')")
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=120)
    assert done.stdout == "refused\n", done.stderr
    database = Database(path, SCHEMA, "notes")
    assert database.rows("SELECT * FROM notes ORDER BY n") == [(1, "kept"), (3, "kept too")]
    database.close()
    assert resource.getrlimit(resource.RLIMIT_FSIZE)[0] != 20_000


def test_another_file_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "state.sqlite"
    path.write_bytes(b"not a database, whatever its name says " * 100)
    with pytest.raises(StoreError, match="not a usable notes"):
        Database(path, SCHEMA, "notes")
    with pytest.raises(StoreError):
        Database(tmp_path, SCHEMA, "notes")


def test_closed_is_closed() -> None:
    database = Database(None, SCHEMA, "notes")
    database.close()
    with pytest.raises(sqlite3.ProgrammingError):
        database.rows("SELECT 1")


@pytest.mark.parametrize(("power_safe", "level"), [(True, 2), (False, 1)])
def test_the_disk_is_flushed_where_power_safety_is_wanted(
    tmp_path: Path, power_safe: bool, level: int
) -> None:
    database = Database(tmp_path / "state.sqlite", SCHEMA, "notes", power_safe=power_safe)
    assert database.row("PRAGMA synchronous") == (level,)
    database.close()
