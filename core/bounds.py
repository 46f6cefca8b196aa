"""The bounds of the wire: sizes, counts and ranges that every message keeps, each checked by name.

Every function returns what it was given, or raises `WireError` with the offending field and its limit.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from enum import StrEnum
from typing import TypeVar

from core.errors import WireError
from core.records import RetrievedDocument

MAX_MESSAGE_BYTES = 4 * 1024 * 1024
MAX_TEXT_BYTES = 262_144
MAX_QUERY_BYTES = 8_192
MAX_ID_BYTES = 256
MAX_TITLE_BYTES = 4_096
MAX_DETAIL_BYTES = 2_048
MAX_DOCUMENTS = 100
MAX_SUBMITTED = 10_000
MAX_EVIDENCE = 64
_MAX_SCORE = 3e38  # what float32 holds

_Enum = TypeVar("_Enum", bound=StrEnum)
_Item = TypeVar("_Item")


def text(value: str, what: str, limit: int, *, empty: bool = False) -> str:
    """`value` if it is UTF-8, at most `limit` bytes and, unless `empty`, not blank."""
    try:
        size = len(value.encode("utf-8"))
    except UnicodeEncodeError:
        raise WireError(f"{what} holds a lone surrogate and is not UTF-8") from None
    if size > limit:
        raise WireError(f"{what} has {size} bytes, more than {limit}")
    if not empty and not value.strip():
        raise WireError(f"{what} is empty")
    return value


def identifier(value: str, what: str, *, empty: bool = False) -> str:
    """`value` if it can be an id: 1..256 bytes, not blank (or nothing where `empty`)."""
    return text(value, what, MAX_ID_BYTES, empty=empty)


def number(value: float, what: str, low: float = -math.inf, high: float = math.inf) -> float:
    """`value` if it is finite and in [low, high]."""
    if not math.isfinite(value):
        raise WireError(f"{what} is not a finite number")
    if not low <= value <= high:
        raise WireError(f"{what} is {value:g}, outside [{low:g}, {high:g}]")
    return value


def counted(items: Iterable[_Item], what: str, limit: int) -> list[_Item]:
    """`items` as a list of at most `limit`."""
    listed = list(items)
    if len(listed) > limit:
        raise WireError(f"{len(listed)} {what}, more than {limit}")
    return listed


def distinct(documents: list[RetrievedDocument]) -> list[RetrievedDocument]:
    """`documents` if no (source, document id) stands twice."""
    if len({document.key for document in documents}) < len(documents):
        raise WireError("one doc_id of a source stands on several documents")
    return documents


def count_asked(top_k: int) -> int:
    """`top_k` if it is in [1, MAX_DOCUMENTS]."""
    if not 1 <= top_k <= MAX_DOCUMENTS:
        raise WireError(f"top_k is {top_k}, outside [1, {MAX_DOCUMENTS}]")
    return top_k


def member(kind: Callable[[str], _Enum], value: str, what: str) -> _Enum:
    """The member of an enumeration that `value` names."""
    try:
        return kind(value)
    except ValueError:
        raise WireError(f"unknown {what} {value[:40]!r}") from None


def document(given: RetrievedDocument) -> RetrievedDocument:
    """`given` if its ids, texts and score are within bounds."""
    identifier(given.doc_id, "doc_id")
    text(given.text, f"text of {given.doc_id!r}", MAX_TEXT_BYTES)
    text(given.title, f"title of {given.doc_id!r}", MAX_TITLE_BYTES, empty=True)
    identifier(given.category or "", f"category of {given.doc_id!r}", empty=True)
    number(given.score, f"score of {given.doc_id!r}", -_MAX_SCORE, _MAX_SCORE)
    return given
