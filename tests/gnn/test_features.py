from __future__ import annotations

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from gnn.features import FEATURES, composite_similarity, edges_above, keywords, log_ratio, node_features
from tests.gnn.parts import EMBEDDER, OTHER, QUESTION, TRUE


def rows(texts: list[str], question: str = QUESTION) -> NDArray[np.float32]:
    vectors = EMBEDDER.embed(texts)
    category = np.arange(len(texts)) % 2
    adjacency = edges_above(vectors @ vectors.T, 0.5)
    return node_features(question, texts, vectors, EMBEDDER.embed([question])[0], category, adjacency)


def test_the_normaliser_by_hand() -> None:
    assert log_ratio(np.array([0.0, 2.0, 4.0])) == pytest.approx([0, np.log(2), np.log(3)])
    assert log_ratio(np.array([0.0, 0.0, 5.0])) == pytest.approx(
        [0, 0, np.log(6)]
    )  # a zero median counts as 1
    assert log_ratio(np.zeros(0)).shape == (0,)


def test_composite_similarity_by_hand() -> None:
    vectors = np.array([[1, 0], [0.6, 0.8]], np.float32)
    categories = np.array([[1, 0], [1, 0]], np.float32)
    found = composite_similarity(vectors, categories, 0.7)
    assert found[0, 1] == found[1, 0] == pytest.approx(0.7 * 0.6 + 0.3)
    assert np.diagonal(found).tolist() == [0, 0]


def test_edges_are_the_pairs_above_the_quantile() -> None:
    similarity = np.array([[0, 0.9, 0.1], [0.9, 0, 0.2], [0.1, 0.2, 0]], np.float32)
    found = edges_above(similarity, 0.6)
    assert found.tolist() == [[False, True, False], [True, False, False], [False, False, False]]
    assert edges_above(np.zeros((1, 1), np.float32), 0.5).tolist() == [[False]]


def test_keywords_are_bounded_phrases_of_letters() -> None:
    found = keywords("The bell of Arden Hall is 12 a an extraordinarilylongcompoundwordthatnobodyuses")
    assert "arden hall" in found
    assert "bell" not in found  # fewer than six letters
    assert all(2 <= len(phrase) <= 35 for phrase in found)


def test_twelve_finite_columns() -> None:
    found = rows([TRUE, OTHER, TRUE + " It is awful, terrible and bad.", "12"])
    assert found.shape == (4, 12)
    assert len(FEATURES) == 12
    assert np.isfinite(found).all()
    column = dict(zip(FEATURES, found.T, strict=True))
    assert column["negative"][2] > column["negative"][0]
    assert column["compound"][2] < 0  # raw, not through a logarithm
    assert column["relevance"][0] > column["relevance"][1]
    assert column["category_share"] == pytest.approx([0.5] * 4)
    assert column["length"][2] > column["length"][3]
    total = column["positive"] + column["neutral"] + column["negative"]
    assert total[:3] == pytest.approx([1, 1, 1], abs=0.01)


def test_no_document_and_one() -> None:
    assert rows([]).shape == (0, 12)
    assert np.isfinite(rows([TRUE])).all()


@settings(max_examples=25, suppress_health_check=[HealthCheck.too_slow])
@given(
    st.lists(
        st.text(st.characters(exclude_categories=("Cs",)), min_size=1, max_size=60), min_size=1, max_size=5
    )
)
def test_any_texts(texts: list[str]) -> None:
    found = rows(texts)
    assert found.shape == (len(texts), 12)
    assert np.isfinite(found).all()
