"""Makes a store whose documents stay in a collection elsewhere."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from core.embedding.base import Embedder
from core.errors import ConfigError, StoreError
from core.paths import write_atomic
from source_node.backends import BACKENDS
from source_node.backends.base import Collection
from source_node.store import MANIFEST, Backend, Manifest, read_manifest


def attach(
    folder: Path | str, kind: str, options: Mapping[str, Any], embedder: Embedder, embedder_name: str
) -> Manifest:
    """Point the store in `folder` (made if missing) at a collection that `embedder`'s vectors are in.

    Raises:
        StoreError: the folder holds documents of its own, or the collection cannot be reached.
        ConfigError: unknown kind or option, or vectors of another dimension.
    """
    folder = Path(folder)
    before = read_manifest(folder) if folder.exists() else None
    if before is not None and before.backend is None:
        raise StoreError(f"{folder}: holds documents of its own; attach a new folder")
    collection: Collection = BACKENDS.get(kind)(**options)
    if collection.dimension != embedder.dimension:
        raise ConfigError(
            f"the collection has vectors of {collection.dimension} numbers, "
            f"{embedder.identity} makes {embedder.dimension}"
        )
    manifest = Manifest(
        generation=1 if before is None else before.generation + 1,
        n_documents=len(collection),
        embedder=embedder_name,
        identity=embedder.identity,
        dimension=embedder.dimension,
        backend=Backend(kind=kind, options=dict(options)),
    )
    write_atomic(folder / MANIFEST, manifest.model_dump_json(indent=2) + "\n")
    return manifest
