from __future__ import annotations

import numpy as np
import pytest

from core.errors import CheckpointError
from gnn.paper import SETTINGS, PaperModel, PaperState, category_vectors, paper_graph, smooth, source_values
from tests.gnn.parts import EMBEDDER, a_round, dispute_round, make_checkpoint, paper_checkpoint

CATEGORIES = category_vectors(EMBEDDER, ["Bells and towers.", "Rivers and gardens."])


def test_graph_of_a_round() -> None:
    given = dispute_round()
    graph = paper_graph(given, CATEGORIES)
    assert graph.static.shape == (5, 12)
    assert graph.edge_index.shape[0] == 2
    assert (graph.edge_index[0] != graph.edge_index[1]).all()
    assert graph.sources == given.sources


def test_a_document_has_the_reliability_of_its_best_holder() -> None:
    graph = paper_graph(a_round([("A text of two.", ["a", "b"]), ("A text of one.", ["c"])]), CATEGORIES)
    values = source_values(graph, {"a": 0.2, "b": 0.9})
    assert values[:, 0].tolist() == pytest.approx([0.9, SETTINGS["start"]])


def test_equation_13_by_hand() -> None:
    graph = paper_graph(
        a_round([("One text.", ["a"]), ("Two texts.", ["a"])], sources=["a", "b"]), CATEGORIES
    )
    after = smooth(graph, np.array([1.0, 0.5]), PaperState({"a": 0.4, "b": 0.3}, {}))
    assert after.now["a"] == pytest.approx(0.9 * 0.4 + 0.1 * 0.75)
    assert after.now["b"] == 0.3  # it gave nothing
    assert after.before["a"] == 0.4


def test_reliability_stays_within_the_bound_of_lemma_3() -> None:
    """After T rounds at mean credibility c a source stands within beta^T of c."""
    beta, start = SETTINGS["momentum"], SETTINGS["start"]
    graph = paper_graph(a_round([("One text.", ["a"])]), CATEGORIES)
    state = PaperState({}, {})
    for t in range(1, 40):
        state = smooth(graph, np.array([0.9]), state)
        assert abs(state.now["a"] - 0.9) <= beta**t * abs(start - 0.9) + 1e-12


def test_the_model_scores_rounds_and_carries_its_state() -> None:
    model = PaperModel(paper_checkpoint())
    given = dispute_round()
    first = model.score(given)
    assert first.credibility.shape == (5,)
    assert ((first.credibility > 0) & (first.credibility < 1)).all()
    assert set(first.reliability) == set(given.sources)
    again = model.load(model.dump(first.state))
    assert again.now == first.state.now
    assert source_values(paper_graph(given, CATEGORIES), again.before).min() == SETTINGS["start"]
    assert np.array_equal(model.score(given, again).credibility, model.score(given, first.state).credibility)


def test_a_checkpoint_without_it_says_so() -> None:
    with pytest.raises(CheckpointError, match="carries no 'paper' network"):
        PaperModel(make_checkpoint())
