"""What readers share: which fields make a document, its bounds, and what happens to a bad one."""

from __future__ import annotations

import logging
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Protocol

from core import bounds
from core.errors import DataError, WireError
from core.records import Document
from core.text import clean

_LOG = logging.getLogger(__name__)
MAX_WHOLE_BYTES = 64 * 1024 * 1024  # of a text that is cut into chunks
IDS = ("_id", "id", "doc_id")
TEXTS = ("text", "content", "body")


@dataclass
class ReadOptions:
    """Which fields hold what, and how strict to be.

    `id_field`, `text_field`, `title_field`, `category_field` None: the usual names. `max_bytes` bounds a
    text. `skip_bad`: a document that cannot be read is logged (by its place, never its text), counted
    in `skipped` and left out; otherwise it ends the reading.
    """

    id_field: str | None = None
    text_field: str | None = None
    title_field: str | None = None
    category_field: str | None = None
    max_bytes: int = bounds.MAX_TEXT_BYTES
    skip_bad: bool = False
    skipped: int = field(default=0, compare=False)

    def bad(self, error: DataError) -> None:
        """Count the document that `error` is about as skipped.

        Raises:
            DataError: `error` itself, unless bad documents are skipped.
        """
        if not self.skip_bad:
            raise error
        self.skipped += 1
        _LOG.warning("left out: %s", error)


class Reader(Protocol):
    """Reads one format."""

    def read(self, path: Path, options: ReadOptions) -> Iterator[Document]:
        """The documents of `path` in a fixed order, ids distinct, streamed.

        Raises:
            DataError: nothing readable there, or a bad document (file and place are named).
            MissingPackageError: the format's library is not installed.
        """
        ...

    def count(self, path: Path, options: ReadOptions) -> int | None:
        """How many documents `read` will look at, None where only reading would tell."""
        ...


def document_of(fields: Mapping[str, object], options: ReadOptions) -> Document:
    """The document that a record's `fields` describe.

    Raises:
        WireError: a field is missing, of another type, or out of bounds; the message names it.
    """
    names, doc_id = _first(fields, options.id_field, IDS)
    if isinstance(doc_id, int) and not isinstance(doc_id, bool):
        doc_id = str(doc_id)
    text_name, text = _first(fields, options.text_field, TEXTS)
    category = fields.get(options.category_field or "category", "")
    if isinstance(category, int) and not isinstance(category, bool):
        category = str(category)
    return checked(
        _string(doc_id, names),
        _string(text, text_name),
        _string(fields.get(options.title_field or "title", ""), "title", optional=True),
        _string(category, "category", optional=True) or None,
        options,
    )


def checked(doc_id: str, text: str, title: str, category: str | None, options: ReadOptions) -> Document:
    """A document whose parts are within bounds.

    Raises:
        WireError: one is not.
    """
    try:
        bounds.text(text, "text", options.max_bytes)
    except WireError as error:
        hint = "; cut it with --chunk-words" if options.max_bytes < MAX_WHOLE_BYTES and text.strip() else ""
        raise WireError(f"{error}{hint}") from None
    return Document(
        doc_id=bounds.identifier(doc_id, "_id"),
        text=text,
        title=bounds.text(title, "title", bounds.MAX_TITLE_BYTES, empty=True),
        category=bounds.identifier(category or "", "category", empty=True) or None,
    )


def short_title(text: str) -> str:
    """`text` on one line and within the bounds of a title."""
    line = " ".join(clean(text).split())
    return line.encode("utf-8", "replace")[: bounds.MAX_TITLE_BYTES].decode("utf-8", "ignore")


def _first(fields: Mapping[str, object], named: str | None, usual: tuple[str, ...]) -> tuple[str, object]:
    if named is not None:
        return named, fields.get(named)
    name = next((name for name in usual if fields.get(name) is not None), usual[0])
    return name, fields.get(name)


def _string(value: object, key: str, *, optional: bool = False) -> str:
    if isinstance(value, str):
        return value
    if value is None:
        if optional:
            return ""
        raise WireError(f"key {key!r} is missing")
    raise WireError(f"{key} must be a string, not {type(value).__name__}")


class Distinct:
    """Remembers where every id stood first, so that a second one can be told with both places."""

    def __init__(self) -> None:
        self._places: dict[str, int | str] = {}

    def __len__(self) -> int:
        return len(self._places)

    def check(self, doc_id: str, place: int | str) -> None:
        """Remember `doc_id` at `place` (a line number, or a file).

        Raises:
            WireError: it stood elsewhere already.
        """
        earlier = self._places.setdefault(doc_id, place)
        if earlier != place:
            where = f"line {earlier}" if isinstance(earlier, int) else earlier
            raise WireError(f"_id {doc_id!r} stands in {where} already")
