"""JSON lines: one document a line, further keys ignored; a folder stands for its `corpus.jsonl`."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from core.records import Document
from source_node.corpus import count_lines, read_corpus
from source_node.readers.base import ReadOptions


class JsonLines:
    """`{"_id": …, "text": …, "title"?: …, "category"?: …}` a line."""

    def read(self, path: Path, options: ReadOptions) -> Iterator[Document]:
        return read_corpus(path, options)

    def count(self, path: Path, options: ReadOptions) -> int | None:
        return count_lines(path)
