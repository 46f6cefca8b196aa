"""A folder of text, Markdown, HTML and PDF files, each one document."""

from __future__ import annotations

import logging
from collections.abc import Iterator
from pathlib import Path

from core.errors import DataError, WireError
from core.records import Document
from source_node.readers.base import MAX_WHOLE_BYTES, ReadOptions, checked, short_title
from source_node.readers.texts import EXTRACTORS

_LOG = logging.getLogger(__name__)


class Files:
    """Every file of a known suffix below a folder, in the order of their paths; or one file.

    The id is the path below the folder with `/`, the title what the document calls itself, else the
    file's name. Hidden files and folders, links to folders and other suffixes are left out. The
    category is that of the first folder level with `category_field` `folder`.
    """

    def read(self, path: Path, options: ReadOptions) -> Iterator[Document]:
        files, others = _listed(path)
        if others:
            _LOG.warning("%s: %d files of other kinds are left out", path, others)
        for file in files:
            name = file.relative_to(path).as_posix() if path.is_dir() else file.name
            try:
                yield self._document(file, name, options)
            except WireError as error:
                options.bad(DataError.at(file, None, str(error)))
            except OSError as error:
                options.bad(DataError.at(file, None, f"cannot be read: {error.strerror}"))

    def count(self, path: Path, options: ReadOptions) -> int | None:
        return len(_listed(path)[0])

    def _document(self, file: Path, name: str, options: ReadOptions) -> Document:
        if file.stat().st_size > MAX_WHOLE_BYTES:
            raise WireError(f"{file.stat().st_size} bytes, more than {MAX_WHOLE_BYTES}")
        title, text = EXTRACTORS[file.suffix.lower()](file.read_bytes())
        folders = name.split("/")[:-1]
        category = folders[0] if options.category_field == "folder" and folders else None
        return checked(name, text, short_title(title) or file.stem, category, options)


def _listed(path: Path) -> tuple[list[Path], int]:
    """The files to read and how many others there are.

    Raises:
        DataError: none to read.
    """
    if path.is_file():
        if path.suffix.lower() not in EXTRACTORS:
            raise DataError.at(path, None, f"not one of {', '.join(EXTRACTORS)}")
        return [path], 0
    found = [
        file
        for file in sorted(path.rglob("*"))
        if file.is_file() and not any(part[0] == "." for part in file.relative_to(path).parts)
    ]
    known = [file for file in found if file.suffix.lower() in EXTRACTORS]
    if not known:
        raise DataError.at(path, None, f"no files here that end in {', '.join(EXTRACTORS)}")
    return known, len(found) - len(known)
