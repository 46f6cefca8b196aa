"""Every problem of a corpus file is named with its line."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from core.errors import DataError
from core.records import Document
from source_node.corpus import count_lines, read_corpus

LINE = '{"_id": "a", "text": "A text."}'


def write(folder: Path, *lines: str | bytes) -> Path:
    path = folder / "corpus.jsonl"
    path.write_bytes(b"\n".join(x if isinstance(x, bytes) else x.encode() for x in lines))
    return path


def test_documents_come_in_file_order_with_what_they_carry(tmp_path: Path) -> None:
    path = write(
        tmp_path,
        '{"_id": "b", "title": "T", "text": "One.", "category": "law", "url": "ignored"}',
        "",
        '{"_id": 7, "text": "Two é.", "title": null}',
        "",
    )
    wanted = [Document("b", "One.", "T", "law"), Document("7", "Two é.")]
    assert list(read_corpus(path)) == wanted
    assert list(read_corpus(tmp_path)) == wanted, "a folder stands for the corpus.jsonl in it"


def test_a_byte_order_mark_and_windows_lines_are_no_problem(tmp_path: Path) -> None:
    path = tmp_path / "corpus.jsonl"
    path.write_bytes(
        b"\xef\xbb\xbf" + LINE.encode() + b"\r\n" + LINE.replace('"a"', '"b"').encode() + b"\r\n"
    )
    assert [d.doc_id for d in read_corpus(path)] == ["a", "b"]


@pytest.mark.parametrize(
    ("line", "problem"),
    [
        ("{", "not JSON: Expecting property name enclosed in double quotes at column 2"),
        ("[" * 100_000, "not JSON"),
        ('["a"]', "must be a JSON object, not list"),
        ("NaN", "must be a JSON object, not float"),
        ('{"text": "x"}', "key '_id' is missing"),
        ('{"_id": "x"}', "key 'text' is missing"),
        ('{"_id": "x", "text": ""}', "text is empty"),
        ('{"_id": "x", "text": " \\n "}', "text is empty"),
        ('{"_id": "", "text": "x"}', "_id is empty"),
        ('{"_id": true, "text": "x"}', "_id must be a string, not bool"),
        ('{"_id": "x", "text": ["x"]}', "text must be a string, not list"),
        ('{"_id": "x", "text": "x", "title": 3}', "title must be a string, not int"),
        ('{"_id": "x", "text": "x", "category": {}}', "category must be a string, not dict"),
        ('{"_id": "x", "text": "\\ud800"}', "text holds a lone surrogate"),
        (json.dumps({"_id": "x" * 257, "text": "x"}), "_id has 257 bytes, more than 256"),
        (json.dumps({"_id": "x", "text": "x" * 262_145}), "text has 262145 bytes, more than 262144"),
        (json.dumps({"_id": "x", "text": "x" * 1_000_000}), "text has 1000000 bytes"),
        ('{"_id": "a", "text": "again"}', "_id 'a' stands in line 1 already"),
        (b'{"_id": "x", "text": "\xff"}', "byte 23 is not UTF-8"),
    ],
)
def test_a_bad_line_is_named(tmp_path: Path, line: str | bytes, problem: str) -> None:
    path = write(tmp_path, LINE, "", line, '{"_id": "z", "text": "after"}')
    documents = read_corpus(path)
    assert next(documents) == Document("a", "A text.")
    with pytest.raises(DataError) as caught:
        next(documents)
    message = str(caught.value)
    assert message.startswith(f"{path}:3: {problem}")
    assert "\n" not in message


def test_a_missing_or_empty_corpus_is_named(tmp_path: Path) -> None:
    with pytest.raises(
        DataError, match=r"corpus\.jsonl: no such corpus file; a folder needs a corpus\.jsonl"
    ):
        list(read_corpus(tmp_path))
    with pytest.raises(DataError, match="nowhere: no such corpus file"):
        list(read_corpus(tmp_path / "nowhere"))
    with pytest.raises(DataError, match="holds no documents"):
        list(read_corpus(write(tmp_path, "", "  ")))


def test_lines_are_counted_with_or_without_the_last_newline(tmp_path: Path) -> None:
    path = write(tmp_path, LINE, LINE)
    assert count_lines(path) == 2
    path.write_bytes(path.read_bytes() + b"\n")
    assert count_lines(tmp_path) == 2
    path.write_bytes(b"")
    assert count_lines(path) == 0


@given(st.binary(max_size=300))
def test_any_bytes_are_read_or_refused_with_a_line(
    tmp_path_factory: pytest.TempPathFactory, data: bytes
) -> None:
    path = tmp_path_factory.mktemp("any") / "corpus.jsonl"
    path.write_bytes(data)
    with pytest.raises(DataError, match=r"corpus\.jsonl(:\d+)?: "):
        list(read_corpus(path))


@given(
    st.lists(
        st.tuples(st.text(st.characters(exclude_categories=["Cs"]), max_size=20), st.booleans()), min_size=1
    )
)
def test_what_json_writes_is_read_back(
    tmp_path_factory: pytest.TempPathFactory, given_texts: list[tuple[str, bool]]
) -> None:
    documents = [Document(str(i), "x" + text, text) for i, (text, _) in enumerate(given_texts)]
    lines = [
        json.dumps({"_id": d.doc_id, "text": d.text, "title": d.title}, ensure_ascii=escaped)
        for d, (_, escaped) in zip(documents, given_texts, strict=True)
    ]
    path = tmp_path_factory.mktemp("json") / "corpus.jsonl"
    path.write_text("\n".join(lines), encoding="utf-8", newline="")
    assert list(read_corpus(path)) == documents
