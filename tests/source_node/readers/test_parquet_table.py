"""Parquet."""

from __future__ import annotations

from pathlib import Path

import pytest

from core.errors import DataError
from core.records import Document
from source_node.readers import READERS
from source_node.readers.base import ReadOptions

pyarrow = pytest.importorskip("pyarrow")
READER = READERS.get("parquet")()


def write(path: Path, **columns) -> Path:
    import pyarrow.parquet as parquet

    parquet.write_table(pyarrow.table(columns), path)
    return path


def test_files_of_a_folder_come_in_order(tmp_path: Path) -> None:
    write(tmp_path / "b.parquet", id=[3], text=["Three."], title=[None], extra=[1.5])
    write(tmp_path / "a.parquet", id=[1, 2], text=["One.", "Two."], category=["law", None])
    assert READER.count(tmp_path, ReadOptions()) == 3
    wanted = [Document("1", "One.", "", "law"), Document("2", "Two."), Document("3", "Three.")]
    assert list(READER.read(tmp_path, ReadOptions())) == wanted


def test_problems_are_one_line(tmp_path: Path) -> None:
    with pytest.raises(DataError, match=r"without a \.parquet file"):
        list(READER.read(tmp_path, ReadOptions()))
    path = write(tmp_path / "t.parquet", id=["a", "a"], text=["x", "y"])
    with pytest.raises(DataError, match=r"t\.parquet:2: _id 'a' stands in line 1 already"):
        list(READER.read(path, ReadOptions()))
    path.write_bytes(b"PAR1 nonsense")
    with pytest.raises(DataError, match="not readable as Parquet") as caught:
        list(READER.read(path, ReadOptions()))
    assert "\n" not in str(caught.value)
