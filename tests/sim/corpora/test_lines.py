from __future__ import annotations

import json
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from core.errors import DataError
from sim.corpora.lines import identifier, json_lines, string, strings, text_lines


def test_lines_are_numbered_and_blank_ones_passed_over(tmp_path: Path) -> None:
    path = tmp_path / "x.tsv"
    path.write_bytes("\ufeffa\r\n\n  \nb \u2028c".encode())
    assert list(text_lines(path)) == [(1, "a"), (4, "b \u2028c")]


def test_bytes_that_are_not_utf8_are_named(tmp_path: Path) -> None:
    path = tmp_path / "x.jsonl"
    path.write_bytes(b'{"a": 1}\n{"a": "\xff"}\n')
    with pytest.raises(DataError, match=r"x\.jsonl:2: not UTF-8: byte 0xff at column 8"):
        list(json_lines(path))


def test_a_missing_file_and_a_folder_in_its_place(tmp_path: Path) -> None:
    with pytest.raises(DataError, match=r"none\.jsonl: no such file"):
        list(text_lines(tmp_path / "none.jsonl"))
    with pytest.raises(DataError, match="cannot be read"):
        list(text_lines(tmp_path))


@pytest.mark.parametrize(
    ("line", "problem"),
    [
        ("{", "not a line of JSON"),
        ('{"a": NaN}', "NaN is not JSON"),
        ('{"a": -Infinity}', "-Infinity is not JSON"),
        ("[1]", "must be a JSON object, not list"),
        ("3", "must be a JSON object, not int"),
        ("[" * 100_000, "not a line of JSON"),
    ],
)
def test_what_is_no_json_object(tmp_path: Path, line: str, problem: str) -> None:
    path = tmp_path / "x.jsonl"
    path.write_text(f'{{"fine": 1}}\n{line}\n')
    with pytest.raises(DataError, match=f"x.jsonl:2: .*{problem}"):
        list(json_lines(path))


@pytest.mark.parametrize(
    ("value", "problem"),
    [
        (None, "is missing"),
        (3, "must be a string, not int"),
        ("  ", "is empty"),
        ("\ud800", "lone surrogate"),
    ],
)
def test_strings_are_checked(value: object, problem: str) -> None:
    with pytest.raises(DataError, match=rf"f:7: .*{problem}"):
        string({"k": value}, "k", Path("f"), 7)


def test_optional_strings_may_be_absent_or_null() -> None:
    assert string({}, "k", Path("f"), 1, required=False) == ""
    assert string({"k": None}, "k", Path("f"), 1, required=False) == ""


def test_ids_have_a_length() -> None:
    assert identifier({"_id": "é" * 128}, "_id", Path("f"), 1) == "é" * 128
    with pytest.raises(DataError, match="longer than 256 bytes"):
        identifier({"_id": "é" * 129}, "_id", Path("f"), 1)


@pytest.mark.parametrize("value", [None, [], "yes", {"a": 1}, [1], ["a", ""], ["a", None]])
def test_lists_of_strings_are_checked(value: object) -> None:
    with pytest.raises(DataError, match="f:2: "):
        strings({"answers": value}, "answers", Path("f"), 2)


def test_lists_lose_doubles_only() -> None:
    assert strings({"answers": ["b", "a", "b"]}, "answers", Path("f"), 1) == ("b", "a")


@given(
    st.lists(
        st.dictionaries(st.text(max_size=8), st.one_of(st.text(), st.integers()), max_size=4), max_size=8
    )
)
def test_any_objects_written_are_read_back(records: list[dict[str, object]]) -> None:
    import tempfile

    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "x.jsonl"
        path.write_text("".join(json.dumps(record) + "\n" for record in records), encoding="utf-8")
        assert [record for _, record in json_lines(path)] == records
