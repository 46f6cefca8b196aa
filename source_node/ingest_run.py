"""What `scr source ingest` does with its settings: reader, chunks, categories, embedder, progress."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

from core.config import parse
from core.errors import ConfigError, DataError
from source_node.config import IngestConfig
from source_node.ingest import IngestOptions, IngestReport, embedder_of, ingest
from source_node.readers import READERS, format_of
from source_node.readers.base import MAX_WHOLE_BYTES, Reader, ReadOptions

if TYPE_CHECKING:
    from core.embedding.base import Embedder
    from core.records import Document
    from source_node.categories import CategoryRules, Labeler
    from source_node.chunking import Chunking


def run(settings: IngestConfig) -> tuple[IngestReport, int]:
    """Ingest; returns what was done and how many documents were left out as unreadable.

    Raises:
        ScrError: a setting, a file or the store is not what it must be.
    """
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

    name = settings.format or format_of(settings.input)
    reader: Reader = READERS.get(name)()
    if not settings.input.exists() and name != "jsonl":  # that reader knows what to say
        raise DataError.at(settings.input, None, "no such file or folder")
    reading = read_options(settings)
    count = reader.count(settings.input, reading)
    embedder, made_with = _embedder(settings)
    options = IngestOptions(
        prune=settings.prune,
        chunking=_chunking(settings),
        labeler=_labeler(settings, embedder),
        readmit=settings.readmit,
        batch=settings.batch,
    )
    documents = reader.read(settings.input, reading)
    if settings.category_rules is not None:
        documents = _ruled(documents, settings.category_rules)
    columns = (TextColumn("ingest"), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn())
    with Progress(*columns, console=Console(stderr=True), transient=False) as bar:
        task = bar.add_task("ingest", total=count)
        report = ingest(
            documents,
            settings.store,
            embedder,
            embedder_name=made_with,
            options=options,
            progress=lambda done: bar.update(task, completed=done),
        )
    return report, reading.skipped


def read_options(settings: IngestConfig) -> ReadOptions:
    """How the reader reads: the fields, and a text of any size where it is cut afterwards."""
    whole = ReadOptions() if settings.chunk_words is None else ReadOptions(max_bytes=MAX_WHOLE_BYTES)
    whole.id_field, whole.text_field = settings.id_field, settings.text_field
    whole.title_field, whole.category_field = settings.title_field, settings.category_from
    whole.skip_bad = settings.skip_bad
    return whole


def _chunking(settings: IngestConfig) -> Chunking | None:
    from source_node.chunking import Chunking

    if settings.chunk_words is None:
        if settings.chunk_overlap:
            raise ConfigError("--chunk-overlap needs --chunk-words")
        return None
    values = {"words": settings.chunk_words, "overlap": settings.chunk_overlap}
    return parse(Chunking, values, "--chunk-words and --chunk-overlap")


def _labeler(settings: IngestConfig, embedder: Embedder | None) -> Labeler | None:
    from source_node.categories import CategoryDescriptions, SimilarityLabeler

    if settings.category_descriptions is None:
        return None
    if embedder is None:
        raise ConfigError("--category-descriptions needs an embedder; this store is without")
    return SimilarityLabeler(CategoryDescriptions.read(settings.category_descriptions), embedder)


def _ruled(documents: Iterator[Document], path: Path) -> Iterator[Document]:
    from source_node.categories import CategoryRules

    rules: CategoryRules = CategoryRules.read(path)
    return (rules.apply(document) for document in documents)


def _embedder(settings: IngestConfig) -> tuple[Embedder | None, str | None]:
    """The embedder of an ingest and its name; the store keeps the vectors, so no cache stands in front."""
    from core.embedding import DEFAULT_EMBEDDER, open_embedder

    made_with = embedder_of(settings.store)
    name = settings.embedder or (made_with if made_with is not None else DEFAULT_EMBEDDER)
    if name == "none":
        return None, None
    return open_embedder(name, memory_only=True).inner, name
