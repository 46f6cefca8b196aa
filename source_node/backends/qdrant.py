"""An existing Qdrant collection as a node's documents and index."""

from __future__ import annotations

import os
from typing import Any

import numpy as np
from numpy.typing import NDArray

from core.config import StrictModel, parse
from core.errors import ConfigError, MissingPackageError, StoreError, WireError
from core.records import Document
from source_node.backends.base import Collection, stored


class QdrantOptions(StrictModel):
    """Where the collection is (`url` of a server or `path` of a local one) and which payload keys hold what.

    `id_field` None takes the point's id. `vector` names one of several vectors. The API key comes from
    the environment variable SCR_QDRANT_API_KEY.
    """

    collection: str
    url: str | None = None
    path: str | None = None
    id_field: str | None = None
    text_field: str = "text"
    title_field: str = "title"
    category_field: str = "category"
    vector: str | None = None
    timeout_s: int = 10


class QdrantCollection(Collection):
    """Searched by cosine; only read, never written.

    Raises:
        ConfigError: wrong options, another distance than cosine, or a vector name that is not there.
        MissingPackageError: qdrant-client is not installed. StoreError: it cannot be reached.
    """

    def __init__(self, client: Any = None, **options: Any) -> None:
        self.options = parse(QdrantOptions, options, "backend 'qdrant'")
        if client is None:
            client = _connect(self.options)
        self._client = client
        with _reached(self.options.collection):
            held = client.get_collection(self.options.collection).config.params.vectors
        if isinstance(held, dict):
            if self.options.vector not in held:
                known = ", ".join(sorted(held))
                raise ConfigError(f"backend 'qdrant': vector must be one of {known}")
            held = held[self.options.vector]
        if str(held.distance.value).lower() not in ("cosine", "dot"):
            raise ConfigError(f"backend 'qdrant': distance must be cosine or dot, not {held.distance.value}")
        self.dimension = int(held.size)

    def __len__(self) -> int:
        with _reached(self.options.collection):
            return int(self._client.count(self.options.collection, exact=True).count)

    def nearest(self, vector: NDArray[np.float32], k: int) -> list[tuple[Document, float]]:
        named = {} if self.options.vector is None else {"using": self.options.vector}
        with _reached(self.options.collection):
            points = self._client.query_points(
                self.options.collection, query=vector.tolist(), limit=k, with_payload=True, **named
            ).points
        try:
            return [(self._document(point), float(point.score)) for point in points]
        except WireError as error:
            raise StoreError(f"Qdrant collection {self.options.collection}: {error}") from None

    def _document(self, point: Any) -> Document:
        fields, names = point.payload or {}, self.options
        doc_id = point.id if names.id_field is None else fields.get(names.id_field)
        return stored(
            doc_id,
            fields.get(names.text_field),
            fields.get(names.title_field),
            fields.get(names.category_field),
        )


class _reached:
    """Turns what the client raises into one line."""

    def __init__(self, collection: str) -> None:
        self._collection = collection

    def __enter__(self) -> None: ...

    def __exit__(self, kind: object, error: BaseException | None, trace: object) -> None:
        if isinstance(error, Exception):
            line = (str(error).splitlines() or [type(error).__name__])[0]
            raise StoreError(f"Qdrant collection {self._collection}: {line}") from None


def _connect(options: QdrantOptions) -> Any:
    if (options.url is None) == (options.path is None):
        raise ConfigError("backend 'qdrant' needs either url or path")
    try:
        from qdrant_client import QdrantClient
    except ModuleNotFoundError:
        raise MissingPackageError(
            "backend 'qdrant' needs the package 'qdrant-client': pip install 'securecollarag[backends]'"
        ) from None
    with _reached(options.collection):
        if options.path is not None:
            return QdrantClient(path=options.path, force_disable_check_same_thread=True)
        key = os.environ.get("SCR_QDRANT_API_KEY")
        return QdrantClient(url=options.url, api_key=key, timeout=options.timeout_s)
