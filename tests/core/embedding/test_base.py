from __future__ import annotations

import numpy as np

from core.embedding import EMBEDDERS
from core.embedding.base import unit_rows


def test_unit_rows_handles_zero_and_tiny_rows() -> None:
    rows = unit_rows(np.array([[3.0, 4.0], [0.0, 0.0], [1e-20, 0.0]]))
    assert rows.dtype == np.float32
    assert np.allclose(rows, [[0.6, 0.8], [1, 0], [1, 0]])
    assert unit_rows(np.zeros((0, 5))).shape == (0, 5)


def test_every_built_in_embedder_is_listed() -> None:
    assert {"hashing", "minilm", "sentence-transformer"} <= set(EMBEDDERS.names())
