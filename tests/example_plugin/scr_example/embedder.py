"""An embedder: how often each letter stands in a text."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from core.embedding.base import Vectors, unit_rows

LETTERS = "abcdefghijklmnopqrstuvwxyz"


class LetterEmbedder:
    """26 dimensions, one a letter."""

    identity = "letters/v1"
    dimension = len(LETTERS)

    def embed(self, texts: Sequence[str]) -> Vectors:
        counts = [[text.lower().count(letter) for letter in LETTERS] for text in texts]
        return unit_rows(np.array(counts, dtype=np.float32).reshape(len(texts), self.dimension))
