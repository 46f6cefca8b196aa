"""The index against the C(N,k) databases built in full."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from core.errors import ConfigError
from defenses.ragpart.databases import Databases
from defenses.ragpart.index import FragmentIndex

INTEGERS = st.integers(-2, 2).map(float)


@st.composite
def integer_corpora(draw) -> tuple[np.ndarray, np.ndarray, int, int]:
    """Fragments of small integers (many ties), a query, k and p; scores are exact, in units of 1/k."""
    n = draw(st.integers(1, 5))
    shape = (draw(st.integers(1, 12)), n, draw(st.integers(1, 3)))
    k = draw(st.integers(1, n))
    vectors = draw(hnp.arrays(np.float32, shape, elements=INTEGERS)) * k  # means stay whole
    query = draw(hnp.arrays(np.float32, (shape[2],), elements=INTEGERS))
    return vectors, query, k, draw(st.integers(1, 14))


@settings(max_examples=300, deadline=None)
@given(integer_corpora(), st.booleans())
def test_same_lists_as_the_literal_databases_ties_included(case, cosine: bool) -> None:
    vectors, query, k, p = case
    ours = FragmentIndex(vectors, k, cosine=cosine)
    # a normalised row is not whole: for the cosine compare with the same quotient of whole numbers
    literal = _Quotients(vectors, k) if cosine else Databases.averaged(vectors, k)
    got, scores = ours.lists(query, p)
    want, expected = literal.lists(query, p)
    np.testing.assert_array_equal(got, want)
    np.testing.assert_allclose(scores, expected, atol=1e-6)
    a, b = ours.poll(query, p), literal.poll(query, p)
    counts = np.zeros(len(vectors), dtype=int)
    counts[a.documents] = a.counts
    np.testing.assert_array_equal(counts, b.counts)


class _Quotients(Databases):
    """Cosines as whole product over root of whole square: what rounding of unit rows would blur."""

    def __init__(self, vectors: np.ndarray, k: int) -> None:
        super().__init__(Databases.averaged(vectors, k).vectors * np.float32(k))

    def _scores(self, query: np.ndarray, p: int) -> np.ndarray:
        squares = np.einsum("cnd,cnd->cn", self.vectors, self.vectors)
        norms = np.sqrt(np.where(squares > 0, squares, np.float32(1.0)))
        return (self.vectors @ query) / norms


@pytest.mark.parametrize("cosine", [False, True])
@pytest.mark.parametrize(("n", "k"), [(5, 1), (5, 3), (6, 6), (8, 4)])
@pytest.mark.parametrize("spread", [0.3, 3.0])
def test_same_lists_where_pruning_works(n: int, k: int, cosine: bool, spread: float) -> None:
    rng = np.random.default_rng(7)
    centres = rng.standard_normal((1500, 1, 24))
    vectors = centres + spread * rng.standard_normal((1500, n, 24))
    vectors = (vectors / np.linalg.norm(vectors, axis=2, keepdims=True)).astype(np.float32)
    ours, literal = FragmentIndex(vectors, k, cosine=cosine), Databases.averaged(vectors, k, cosine=cosine)
    for row in range(10):
        query = (centres[row, 0] / np.linalg.norm(centres[row, 0])).astype(np.float32)
        got, scores = ours.lists(query, 7)
        want, expected = literal.lists(query, 7)
        np.testing.assert_allclose(scores, expected, atol=1e-6)
        moved = got != want  # rounding may swap documents whose scores agree to 1e-6, nothing else
        assert np.abs(scores - expected)[moved].max(initial=0.0) < 1e-6
        assert moved.mean() < 0.01
    if spread < 1 and not cosine:
        assert len(ours.poll(query, 7).documents) < 300


def test_large_combination_counts_are_scored_in_blocks(monkeypatch) -> None:
    rng = np.random.default_rng(1)
    vectors = rng.standard_normal((90, 7, 5)).astype(np.float32)
    query = rng.standard_normal(5).astype(np.float32)
    whole = FragmentIndex(vectors, 3, cosine=True).poll(query, 4)
    monkeypatch.setattr("defenses.ragpart.index._BLOCK", 300)
    parts = FragmentIndex(vectors, 3, cosine=True).poll(query, 4)
    np.testing.assert_array_equal(whole.counts, parts.counts)
    np.testing.assert_allclose(whole.means, parts.means, atol=1e-6)


def test_p_beyond_the_corpus_puts_every_document_in_every_list() -> None:
    vectors = np.eye(4, dtype=np.float32)[:, None, :].repeat(2, axis=1)
    poll = FragmentIndex(vectors, 1).poll(np.ones(4, np.float32), 50)
    assert poll.counts.tolist() == [2, 2, 2, 2]


def test_memory_is_that_of_the_fragments_alone() -> None:
    vectors = np.zeros((10, 10, 16), dtype=np.float32)
    assert FragmentIndex(vectors, 5).nbytes == vectors.nbytes
    assert FragmentIndex(vectors, 5, cosine=True).nbytes > vectors.nbytes


@pytest.mark.parametrize(
    ("shape", "k", "words"),
    [((3, 2, 4), 3, "1..fragments"), ((3, 2, 4), 0, "1..fragments"), ((3, 4), 1, "documents, fragments, d")],
)
def test_wrong_sizes_are_named(shape: tuple[int, ...], k: int, words: str) -> None:
    with pytest.raises(ConfigError, match=words):
        FragmentIndex(np.zeros(shape, dtype=np.float32), k)


def test_more_combinations_than_can_be_held_are_refused() -> None:
    with pytest.raises(ConfigError, match="at most 200000"):
        FragmentIndex(np.zeros((1, 22, 2), dtype=np.float32), 11)


def test_p_below_one_is_refused() -> None:
    with pytest.raises(ConfigError, match="top-p"):
        FragmentIndex(np.zeros((1, 2, 2), dtype=np.float32), 1).poll(np.zeros(2, np.float32), 0)
