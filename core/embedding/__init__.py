"""Embedders by name; each is imported when it is first asked for."""

from __future__ import annotations

from typing import TYPE_CHECKING

from core.registry import Registry

if TYPE_CHECKING:
    from pathlib import Path

    from core.embedding.cache import CachedEmbedder

EMBEDDERS = Registry(
    "embedder",
    "securecollarag.embedders",
    {
        "hashing": "core.embedding.hashing:HashingEmbedder",
        "minilm": "core.embedding.minilm:MiniLMEmbedder",
        "sentence-transformer": "core.embedding.sentence_transformer:SentenceTransformerEmbedder",
    },
    extra="embed",
)
DEFAULT_EMBEDDER = "minilm"


def open_embedder(
    name: str = DEFAULT_EMBEDDER,
    cache_dir: Path | str | None = None,
    *,
    memory_only: bool = False,
    memory: int = 200_000,
) -> CachedEmbedder:
    """The embedder called `name` behind the content-hash cache; its model loads at the first miss.

    `name` is a registry entry or `sentence-transformer:PATH_OR_HUB_ID`. Vectors persist in SQLite
    below the cache folder unless `memory_only`; `memory` of them stay in memory.
    """
    from core.embedding.cache import CachedEmbedder, VectorStore
    from core.paths import cache_dir as resolve

    entry, _, argument = name.partition(":")
    factory = EMBEDDERS.get(entry)
    embedder = factory(argument) if argument else factory()
    store = None if memory_only else VectorStore(resolve(cache_dir) / "embeddings.sqlite")
    return CachedEmbedder(embedder, store, memory=memory)
