"""A deterministic embedder without a model: signed feature hashing of words and character 4-grams."""

from __future__ import annotations

import zlib
from collections.abc import Sequence

import numpy as np

from core.embedding.base import Vectors, unit_rows
from core.text import content_words, words


class HashingEmbedder:
    """Bag-of-features embedding for tests and for machines without a model.

    Args:
        dimension: length of a vector.
    """

    def __init__(self, dimension: int | str = 256) -> None:
        self.dimension = int(dimension)
        self.identity = f"hashing/{self.dimension}/v1"

    def embed(self, texts: Sequence[str]) -> Vectors:
        """(n, dimension) float32 unit rows; equal texts have equal rows."""
        matrix = np.zeros((len(texts), self.dimension), dtype=np.float32)
        for row, text in zip(matrix, texts, strict=True):
            tokens = content_words(text) or words(text)
            for token in tokens:
                self._add(row, token, 1.0)
                padded = f"#{token}#"
                for i in range(len(padded) - 3):
                    self._add(row, padded[i : i + 4], 0.3)
        return unit_rows(matrix)

    def _add(self, row: Vectors, feature: str, weight: float) -> None:
        code = zlib.crc32(feature.encode())
        row[code % self.dimension] += weight if (code >> 16) & 1 else -weight
