from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from core.embedding.hashing import HashingEmbedder
from defenses.vectors import document_vectors, mean_pairwise_cosine
from tests.defenses.rounds import a_round


def test_the_rounds_own_vectors_come_first() -> None:
    given_round = a_round("q", ["a", "b"], np.eye(2))
    assert document_vectors(given_round, HashingEmbedder(8)) is given_round.vectors
    bare = a_round("q", ["red apple", "blue sea"])
    embedder = HashingEmbedder(8)
    found = document_vectors(bare, embedder)
    assert found is not None
    assert np.array_equal(found, embedder.embed(["red apple", "blue sea"]))
    assert document_vectors(bare, None) is None


@given(st.integers(0, 8), st.integers(0, 5))
def test_mean_pairwise_cosine(n: int, seed: int) -> None:
    rows = np.random.default_rng(seed).normal(size=(n, 5)).astype(np.float32)
    rows /= np.linalg.norm(rows, axis=1, keepdims=True) if n else 1
    pairs = [float(rows[i] @ rows[j]) for i in range(n) for j in range(i)]
    assert mean_pairwise_cosine(rows) == pytest.approx(np.mean(pairs) if pairs else 0.0, abs=1e-5)
