"""The embedder protocol."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol, runtime_checkable

import numpy as np
from numpy.typing import NDArray

Vectors = NDArray[np.float32]


@runtime_checkable
class Embedder(Protocol):
    """Turns texts into unit vectors.

    `identity` names model, weights and settings: vectors of equal identity are comparable and may
    be cached together. It is known before the model is loaded.
    """

    @property
    def identity(self) -> str: ...

    @property
    def dimension(self) -> int: ...

    def embed(self, texts: Sequence[str]) -> Vectors:
        """(n, dimension) float32, rows of norm 1 (an empty text has some fixed unit vector).

        Raises:
            EmbeddingError: the model is unavailable or gave a vector that is not finite.
        """
        ...


def unit_rows(matrix: NDArray[np.floating]) -> Vectors:
    """Rows scaled to norm 1 in float32; a zero row becomes the first basis vector."""
    rows = np.asarray(matrix, dtype=np.float32)
    norms = np.linalg.norm(rows, axis=1, keepdims=True)
    zero = norms[:, 0] < 1e-12
    rows = (rows / np.where(norms < 1e-12, 1.0, norms)).astype(np.float32)
    if zero.any():
        rows[zero] = 0.0
        rows[zero, 0] = 1.0
    return rows
