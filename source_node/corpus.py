"""Reads a corpus of documents from JSON lines; every problem is named with file and line.

One document a line: `{"_id": …, "text": …, "title"?: …, "category"?: …}`; further keys are ignored, so
are blank lines. A folder stands for the `corpus.jsonl` in it (BEIR layout).
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any, BinaryIO

from core import bounds
from core.errors import DataError, WireError
from core.records import Document

FILE_NAME = "corpus.jsonl"


def corpus_file(path: Path) -> Path:
    """The JSONL file that `path` (a file or a BEIR folder) stands for.

    Raises:
        DataError: there is none.
    """
    file = path / FILE_NAME if path.is_dir() else path
    if not file.is_file():
        hint = f"; a folder needs a {FILE_NAME}" if path.is_dir() else ""
        raise DataError.at(file, None, f"no such corpus file{hint}")
    return file


def read_corpus(path: Path | str) -> Iterator[Document]:
    """The documents of `path` in file order, streamed.

    Raises:
        DataError: missing file, no documents, or a line that is not UTF-8, not a JSON object, lacks an
            `_id` or a text, repeats an id, or holds more than a reply may carry (`core.bounds`).
    """
    file = corpus_file(Path(path))
    first_line: dict[str, int] = {}
    try:
        with file.open("rb") as lines:
            for number, fields in _objects(file, lines):
                document = _document(file, number, fields)
                earlier = first_line.setdefault(document.doc_id, number)
                if earlier != number:
                    raise DataError.at(
                        file, number, f"_id {document.doc_id!r} stands in line {earlier} already"
                    )
                yield document
    except OSError as error:
        raise DataError.at(file, None, f"cannot be read: {error.strerror}") from None
    if not first_line:
        raise DataError.at(file, None, "holds no documents")


def count_lines(path: Path | str) -> int:
    """How many lines the corpus file has, the last one counted with or without its newline."""
    count, last = 0, b"\n"
    with corpus_file(Path(path)).open("rb") as file:
        while block := file.read(1 << 20):
            count += block.count(b"\n")
            last = block[-1:]
    return count + (last != b"\n")


def _objects(file: Path, lines: BinaryIO) -> Iterator[tuple[int, dict[str, Any]]]:
    for number, raw in enumerate(lines, start=1):
        if number == 1:
            raw = raw.removeprefix(b"\xef\xbb\xbf")
        try:
            line = raw.decode("utf-8").strip()
        except UnicodeDecodeError as error:
            raise DataError.at(file, number, f"byte {error.start + 1} is not UTF-8") from None
        if not line:
            continue
        try:
            fields = json.loads(line)
        except json.JSONDecodeError as error:
            raise DataError.at(file, number, f"not JSON: {error.msg} at column {error.colno}") from None
        except RecursionError:
            raise DataError.at(file, number, "not JSON: nested too deeply") from None
        if not isinstance(fields, dict):
            raise DataError.at(file, number, f"must be a JSON object, not {type(fields).__name__}")
        yield number, fields


def _document(file: Path, number: int, fields: dict[str, Any]) -> Document:
    doc_id = fields.get("_id")
    if isinstance(doc_id, int) and not isinstance(doc_id, bool):
        doc_id = str(doc_id)
    try:
        return Document(
            doc_id=bounds.identifier(_string(doc_id, "_id"), "_id"),
            text=bounds.text(_string(fields.get("text"), "text"), "text", bounds.MAX_TEXT_BYTES),
            title=bounds.text(
                _string(fields.get("title", ""), "title", optional=True),
                "title",
                bounds.MAX_TITLE_BYTES,
                empty=True,
            ),
            category=bounds.identifier(
                _string(fields.get("category", ""), "category", optional=True), "category", empty=True
            )
            or None,
        )
    except WireError as error:
        raise DataError.at(file, number, str(error)) from None


def _string(value: object, key: str, *, optional: bool = False) -> str:
    if isinstance(value, str):
        return value
    if value is None:
        if optional:
            return ""
        raise WireError(f"key {key!r} is missing")
    raise WireError(f"{key} must be a string, not {type(value).__name__}")
