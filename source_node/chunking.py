"""Cuts long documents into overlapping chunks whose ids stay the same from one ingest to the next."""

from __future__ import annotations

import re
from dataclasses import replace

from pydantic import Field, model_validator

from core.config import StrictModel
from core.records import Document

_WORD = re.compile(r"\S+")
_LONGEST = 65_536  # bytes that a chunk may have whatever its words are: far below what a reply carries


class Chunking(StrictModel):
    """`words` a chunk at most; `overlap` of them also end the chunk before. In words between blanks."""

    words: int = Field(ge=8, le=10_000)
    overlap: int = Field(default=0, ge=0)

    @model_validator(mode="after")
    def _advances(self) -> Chunking:
        if self.overlap > self.words // 2:
            raise ValueError("overlap must be at most half of words")
        return self

    def pieces(self, document: Document) -> list[Document]:
        """`document` itself where it is short enough, else its chunks `ID#1`, `ID#2`, … with its title.

        Every word of the text is in a chunk; chunk k depends on its own words and place alone.
        """
        spans = [match.span() for match in _WORD.finditer(document.text)]
        if len(spans) <= self.words and len(document.text.encode("utf-8", "replace")) <= _LONGEST:
            return [document]
        texts: list[str] = []
        start = 0
        while True:
            end = min(start + self.words, len(spans))
            texts += _bounded(document.text[spans[start][0] : spans[end - 1][1]])
            if end == len(spans):
                break
            start = end - self.overlap
        return [
            replace(document, doc_id=f"{document.doc_id}#{number}", text=text)
            for number, text in enumerate(texts, start=1)
        ]


def _bounded(text: str) -> list[str]:
    """`text`, cut where it is longer than any chunk may be (base64, tables without blanks)."""
    size = _LONGEST // 4  # characters of UTF-8 have four bytes at most
    return [text] if len(text) <= size else [text[i : i + size] for i in range(0, len(text), size)]
