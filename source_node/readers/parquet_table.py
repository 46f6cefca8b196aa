"""Parquet through pyarrow: one file, or a folder of them in the order of their names."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

from core.errors import DataError, MissingPackageError, WireError
from core.records import Document
from source_node.readers.base import Distinct, ReadOptions, document_of

_ROWS = 4_096


class ParquetTable:
    """One document a row; columns that no field needs are not read."""

    def read(self, path: Path, options: ReadOptions) -> Iterator[Document]:
        seen = Distinct()
        number = 0
        for file in _files(path):
            table = _open(file)
            wanted = [name for name in _names(options) if name in table.schema_arrow.names]
            try:
                for batch in table.iter_batches(batch_size=_ROWS, columns=wanted):
                    for fields in batch.to_pylist():
                        number += 1
                        try:
                            document = document_of(fields, options)
                            seen.check(document.doc_id, number)
                        except WireError as error:
                            options.bad(DataError.at(file, number, str(error)))
                            continue
                        yield document
            except (OSError, ValueError) as error:  # pyarrow's errors are among them
                raise DataError.at(file, None, f"not readable as Parquet: {_line(error)}") from None
        if not len(seen):
            raise DataError.at(path, None, "holds no documents")

    def count(self, path: Path, options: ReadOptions) -> int | None:
        return sum(_open(file).metadata.num_rows for file in _files(path))


def _files(path: Path) -> list[Path]:
    if not path.is_dir():
        return [path]
    found = sorted(path.glob("*.parquet"))
    if not found:
        raise DataError.at(path, None, "a folder without a .parquet file")
    return found


def _open(path: Path) -> Any:
    try:
        import pyarrow.parquet as parquet
    except ModuleNotFoundError:
        raise MissingPackageError(
            "format 'parquet' needs the package 'pyarrow': pip install 'securecollarag[ingest]'"
        ) from None
    try:
        return parquet.ParquetFile(path)
    except (OSError, ValueError) as error:
        raise DataError.at(path, None, f"not readable as Parquet: {_line(error)}") from None


def _names(options: ReadOptions) -> list[str]:
    from source_node.readers.base import IDS, TEXTS

    return [
        *([options.id_field] if options.id_field else IDS),
        *([options.text_field] if options.text_field else TEXTS),
        options.title_field or "title",
        options.category_field or "category",
    ]


def _line(error: Exception) -> str:
    return str(error).splitlines()[0] if str(error) else type(error).__name__
