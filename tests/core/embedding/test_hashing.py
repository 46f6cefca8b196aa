from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from core.embedding.base import Embedder
from core.embedding.hashing import HashingEmbedder


@given(st.lists(st.text(max_size=30), max_size=5), st.sampled_from([1, 8, 256]))
def test_rows_are_unit_finite_and_depend_on_their_text_only(texts: list[str], dimension: int) -> None:
    embedder = HashingEmbedder(dimension)
    vectors = embedder.embed(texts)
    assert vectors.shape == (len(texts), dimension)
    assert vectors.dtype == np.float32
    assert np.allclose(np.linalg.norm(vectors, axis=1), 1, atol=1e-5)
    for text, vector in zip(texts, vectors, strict=True):
        assert np.array_equal(embedder.embed([text])[0], vector)


def test_related_texts_are_nearer() -> None:
    a, b, c = HashingEmbedder().embed(
        [
            "The harbour of Velmora opened in 1932",
            "Velmora's harbour was opened in 1932",
            "Bees collect nectar",
        ]
    )
    assert a @ b > 0.5 > a @ c


def test_identity_and_protocol() -> None:
    assert isinstance(HashingEmbedder(), Embedder)
    assert HashingEmbedder("64").identity == "hashing/64/v1"
