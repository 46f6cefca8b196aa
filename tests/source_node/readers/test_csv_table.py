"""CSV and TSV."""

from __future__ import annotations

import csv
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from core.errors import DataError
from core.records import Document
from source_node.readers import READERS, format_of
from source_node.readers.base import ReadOptions

READER = READERS.get("csv")()


def read(path: Path, **options) -> list[Document]:
    return list(READER.read(path, ReadOptions(**options)))


def test_columns_by_their_usual_names_and_by_others(tmp_path: Path) -> None:
    path = tmp_path / "notes.csv"
    path.write_text('\ufeffid,title,text,category,more\n7,T,"One,\ntwo",law,x\n8,,Three,,\n')
    assert read(path) == [Document("7", "One,\ntwo", "T", "law"), Document("8", "Three")]
    path.write_text("nr;x\n", encoding="utf-8")
    path = tmp_path / "notes.tsv"
    path.write_text("nr\tnote\tward\n1\tFever.\tA\n")
    named = {"id_field": "nr", "text_field": "note", "category_field": "ward"}
    assert read(path, **named) == [Document("1", "Fever.", "", "A")]


def test_without_an_id_column_the_row_is_the_id(tmp_path: Path) -> None:
    path = tmp_path / "notes.csv"
    path.write_text("text\nOne.\nTwo.\n")
    assert [d.doc_id for d in read(path)] == ["1", "2"]


@pytest.mark.parametrize(
    ("content", "problem"),
    [
        (b"id,text\n1,a\n1,b\n", r":3: _id '1' stands in line 1 already"),
        (b"id,text\n1,\n", r":2: text is empty"),
        (b"id,note\n1,x\n", r":2: key 'text' is missing"),
        (b"id,text\n1,a,b\n", r":2: more fields than the header names"),
        (b"id,text\n1,\xff\n", r"not UTF-8 after row"),
        (b"id,text\n", r"holds no documents"),
    ],
)
def test_a_bad_row_is_one_line_with_its_place(tmp_path: Path, content: bytes, problem: str) -> None:
    path = tmp_path / "notes.csv"
    path.write_bytes(content)
    with pytest.raises(DataError, match=problem) as caught:
        read(path)
    assert "\n" not in str(caught.value)


def test_bad_rows_can_be_left_out(tmp_path: Path, caplog) -> None:
    path = tmp_path / "notes.csv"
    path.write_text("id,text\n1,a\n1,secret\n2,b\n")
    options = ReadOptions(skip_bad=True)
    assert [d.text for d in READER.read(path, options)] == ["a", "b"]
    assert options.skipped == 1
    assert "notes.csv:3" in caplog.text
    assert "secret" not in caplog.text


texts = st.text(st.characters(exclude_categories=("Cs", "Cc")), min_size=1).filter(str.strip)


@given(st.lists(texts, min_size=1, max_size=8))
def test_what_is_written_is_read(tmp_path_factory: pytest.TempPathFactory, rows: list[str]) -> None:
    path = tmp_path_factory.mktemp("csv") / "t.csv"
    with path.open("w", newline="", encoding="utf-8") as file:
        table = csv.writer(file)
        table.writerow(["_id", "text"])
        table.writerows([[f"d{i}", row] for i, row in enumerate(rows)])
    assert [d.text for d in read(path)] == rows


def test_formats_go_by_suffix(tmp_path: Path) -> None:
    names = {"a.CSV": "csv", "a.tsv": "csv", "a.parquet": "parquet", "a.json": "fhir", "a.pdf": "files"}
    assert {name: format_of(tmp_path / name) for name in names} == names
    assert format_of(tmp_path / "a.jsonl") == format_of(tmp_path / "unknown") == "jsonl"
    (tmp_path / "sub").mkdir()
    (tmp_path / "sub" / "x.parquet").touch()
    assert format_of(tmp_path / "sub") == "parquet"
    (tmp_path / "sub" / "y.txt").touch()
    assert format_of(tmp_path / "sub") == "files"
    (tmp_path / "sub" / "corpus.jsonl").touch()
    assert format_of(tmp_path / "sub") == "jsonl"
