"""Reads a corpus of documents from JSON lines; every problem is named with file and line.

One document a line: `{"_id": …, "text": …, "title"?: …, "category"?: …}`; further keys are ignored, so
are blank lines. A folder stands for the `corpus.jsonl` in it (BEIR layout).
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from core.errors import DataError, WireError
from core.records import Document
from source_node.readers.base import Distinct, ReadOptions, document_of

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


def read_corpus(path: Path | str, options: ReadOptions | None = None) -> Iterator[Document]:
    """The documents of `path` in file order, streamed; `options` name other fields, or skip bad lines.

    Raises:
        DataError: missing file, no documents, or a line that is not UTF-8, not a JSON object, lacks an
            `_id` or a text, repeats an id, or holds more than a reply may carry (`core.bounds`).
    """
    file, options = corpus_file(Path(path)), options or ReadOptions()
    seen = Distinct()
    try:
        with file.open("rb") as lines:
            for number, raw in enumerate(lines, start=1):
                try:
                    fields = _fields(raw.removeprefix(b"\xef\xbb\xbf") if number == 1 else raw)
                    if fields is None:
                        continue
                    document = document_of(fields, options)
                    seen.check(document.doc_id, number)
                except WireError as error:
                    options.bad(DataError.at(file, number, str(error)))
                    continue
                yield document
    except OSError as error:
        raise DataError.at(file, None, f"cannot be read: {error.strerror}") from None
    if not len(seen):
        raise DataError.at(file, None, "holds no documents")


def count_lines(path: Path | str) -> int:
    """How many lines the corpus file has, the last one counted with or without its newline."""
    count, last = 0, b"\n"
    with corpus_file(Path(path)).open("rb") as file:
        while block := file.read(1 << 20):
            count += block.count(b"\n")
            last = block[-1:]
    return count + (last != b"\n")


def _fields(raw: bytes) -> dict[str, Any] | None:
    """The object in a line, None for a blank one."""
    try:
        line = raw.decode("utf-8").strip()
    except UnicodeDecodeError as error:
        raise WireError(f"byte {error.start + 1} is not UTF-8") from None
    if not line:
        return None
    try:
        fields = json.loads(line)
    except json.JSONDecodeError as error:
        raise WireError(f"not JSON: {error.msg} at column {error.colno}") from None
    except RecursionError:
        raise WireError("not JSON: nested too deeply") from None
    if not isinstance(fields, dict):
        raise WireError(f"must be a JSON object, not {type(fields).__name__}")
    return fields
