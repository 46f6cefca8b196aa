"""Any sentence-transformers model, by hub id or folder."""

from __future__ import annotations

import threading
from collections.abc import Sequence
from typing import Any

import numpy as np

from core.embedding.base import Vectors, unit_rows
from core.errors import EmbeddingError, MissingPackageError


class SentenceTransformerEmbedder:
    """Wraps `SentenceTransformer(model)`; the device is chosen by the library.

    Args:
        model: hub id or folder of a sentence-transformers model.
        batch: texts per forward pass.
    """

    def __init__(self, model: str, batch: int = 32) -> None:
        self._name = model
        self._batch = batch
        self._model: Any = None
        self._lock = threading.Lock()

    @property
    def identity(self) -> str:
        return f"sentence-transformer/{self._name}"

    @property
    def dimension(self) -> int:
        return int(self._load().get_embedding_dimension())

    def embed(self, texts: Sequence[str]) -> Vectors:
        """(n, dimension) float32 unit rows."""
        if not texts:
            return np.zeros((0, self.dimension), dtype=np.float32)
        vectors = self._load().encode(
            list(texts), batch_size=self._batch, show_progress_bar=False, convert_to_numpy=True
        )
        return unit_rows(vectors)

    def _load(self) -> Any:
        with self._lock:
            if self._model is None:
                try:
                    from sentence_transformers import SentenceTransformer
                except ModuleNotFoundError as error:
                    raise MissingPackageError(
                        "embedder 'sentence-transformer' needs the package 'sentence-transformers': "
                        "pip install 'securecollarag[embed]'"
                    ) from error
                try:
                    self._model = SentenceTransformer(self._name)
                except (OSError, ValueError) as error:
                    raise EmbeddingError(
                        f"cannot load {self._name!r} as a sentence-transformers model: "
                        f"{str(error).splitlines()[0]}"
                    ) from None
            return self._model
