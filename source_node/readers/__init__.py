"""Readers of what institutions have, by format; each is imported when it is first asked for.

A reader is two functions of one module: `read(path, options)`, an iterator of documents in a fixed
order, and `count(path, options)`, how many there are to come where that is cheap to know.
"""

from __future__ import annotations

from pathlib import Path

from core.registry import Registry

READERS = Registry(
    "format",
    "securecollarag.readers",
    {
        "jsonl": "source_node.readers.jsonl:JsonLines",
        "csv": "source_node.readers.csv_table:CsvTable",
        "parquet": "source_node.readers.parquet_table:ParquetTable",
        "files": "source_node.readers.files:Files",
        "fhir": "source_node.readers.fhir:Fhir",
    },
    extra="ingest",
)
_SUFFIXES = {
    ".jsonl": "jsonl",
    ".csv": "csv",
    ".tsv": "csv",
    ".parquet": "parquet",
    ".ndjson": "fhir",
    ".json": "fhir",
    ".txt": "files",
    ".md": "files",
    ".markdown": "files",
    ".html": "files",
    ".htm": "files",
    ".pdf": "files",
}


def format_of(path: Path) -> str:
    """The format that `path` looks like: by its suffix, `jsonl` where that says nothing.

    A folder is `jsonl` where it holds a `corpus.jsonl` (BEIR), `parquet` where all its files are, and
    `files` otherwise.
    """
    if not path.is_dir():
        return _SUFFIXES.get(path.suffix.lower(), "jsonl")
    if (path / "corpus.jsonl").is_file():
        return "jsonl"
    suffixes = {inner.suffix.lower() for inner in path.iterdir() if inner.name[0] != "."}
    return "parquet" if suffixes == {".parquet"} else "files" if suffixes else "jsonl"
