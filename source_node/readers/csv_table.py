"""CSV and TSV with a header line; quoted fields may hold line breaks."""

from __future__ import annotations

import csv
from collections.abc import Iterator
from pathlib import Path

from core.errors import DataError, WireError
from core.records import Document
from source_node.readers.base import MAX_WHOLE_BYTES, Distinct, ReadOptions, document_of


class CsvTable:
    """One document a row, UTF-8; a tab separates where the file is `.tsv`, a comma elsewhere.

    Without an id column (and none named) the row's number is the id: rows then must keep their places.
    """

    def read(self, path: Path, options: ReadOptions) -> Iterator[Document]:
        seen = Distinct()
        number = 1
        before = csv.field_size_limit(MAX_WHOLE_BYTES)
        try:
            with path.open(encoding="utf-8-sig", newline="") as file:
                table = csv.DictReader(file, dialect="excel-tab" if path.suffix == ".tsv" else "excel")
                for number, row in enumerate(table, start=1):
                    try:
                        yield self._document(number, row, seen, options)
                    except WireError as error:
                        options.bad(DataError.at(path, table.line_num, str(error)))
        except OSError as error:
            raise DataError.at(path, None, f"cannot be read: {error.strerror}") from None
        except UnicodeDecodeError as error:
            raise DataError.at(path, None, f"not UTF-8 after row {number} ({error.reason})") from None
        except csv.Error as error:
            raise DataError.at(path, None, f"not CSV after row {number}: {error}") from None
        finally:
            csv.field_size_limit(before)
        if not len(seen):
            raise DataError.at(path, None, "holds no documents")

    def count(self, path: Path, options: ReadOptions) -> int | None:
        return None

    def _document(
        self, number: int, row: dict[str, object], seen: Distinct, options: ReadOptions
    ) -> Document:
        if None in row:  # what DictReader calls the fields beyond the header
            raise WireError("more fields than the header names")
        fields: dict[str, object] = {key: value for key, value in row.items() if value is not None}
        if options.id_field is None and not any(name in fields for name in ("_id", "id", "doc_id")):
            fields["_id"] = str(number)
        document = document_of(fields, options)
        seen.check(document.doc_id, number)
        return document
