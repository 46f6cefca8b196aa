"""What verification reads off texts, remembered by text: a document is split and tokenised once."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from functools import lru_cache
from typing import NamedTuple

from core.text import sentences as split_sentences
from core.text import words

MAX_SENTENCES = 48
MAX_SENTENCE_CHARACTERS = 1000
_SENTENCES_REMEMBERED = 50_000
_DOCUMENTS_REMEMBERED = 10_000


class DocumentWords(NamedTuple):
    """The words of a document: as a `word_line`, how often each occurs, and how many there are."""

    line: str
    counts: Mapping[str, int]
    total: int


def document_sentences(text: str) -> list[str]:
    """At most `MAX_SENTENCES` sentences of a document, each cut at `MAX_SENTENCE_CHARACTERS`."""
    return list(_sentences(text))


@lru_cache(maxsize=_DOCUMENTS_REMEMBERED)
def document_words(text: str) -> DocumentWords:
    """The words of a document."""
    found = words(text)
    return DocumentWords(as_line(found), Counter(found), len(found))


@lru_cache(maxsize=_SENTENCES_REMEMBERED)
def word_line(text: str) -> str:
    """The words of `text` between blanks, so that a run of words is a substring: ` the bell of arden `."""
    return as_line(words(text))


def as_line(tokens: Iterable[str]) -> str:
    """`tokens` as a `word_line`."""
    return f" {' '.join(tokens)} "


def forget_texts() -> None:
    """Drop what is remembered (for measuring a text's first time)."""
    _sentences.cache_clear()
    document_words.cache_clear()
    word_line.cache_clear()


@lru_cache(maxsize=_DOCUMENTS_REMEMBERED)
def _sentences(text: str) -> tuple[str, ...]:
    return tuple(s[:MAX_SENTENCE_CHARACTERS] for s in split_sentences(text)[:MAX_SENTENCES])
