from __future__ import annotations

import numpy as np
import pytest

from core.errors import CheckpointError, ConfigError
from gnn.baselines.trees import fit_trees
from gnn.checkpoint import Checkpoint
from gnn.fit import fit_mlp
from gnn.graph import DOCUMENT_FEATURES
from gnn.models import MODELS, document_rows, open_model
from tests.gnn.parts import a_round, dispute_round, paper_checkpoint
from tests.gnn.test_graph import graph_of


@pytest.fixture(scope="module")
def checkpoint() -> Checkpoint:
    """Every model in one checkpoint: the row models learn that the base tells the truth."""
    rng = np.random.default_rng(0)
    rows = rng.normal(size=(200, len(DOCUMENT_FEATURES) + 1)).astype(np.float32)
    sound = rows[:, -1] > 0
    logistic = fit_mlp(rows, sound.astype(np.int64), hidden=(), classes=1, seed=0, epochs=20)
    trees = fit_trees(rows, sound, np.ones(200), 0)
    base = paper_checkpoint()
    arrays = {**base.arrays, **logistic.to_arrays("logistic"), **trees.to_arrays("boosted-trees")}
    return Checkpoint(arrays, base.meta)


@pytest.mark.parametrize("name", MODELS)
def test_every_model_scores_carries_its_state_and_survives_a_restart(
    name: str, checkpoint: Checkpoint
) -> None:
    model = open_model(name, checkpoint)
    state = None
    for given in (dispute_round(), dispute_round(), a_round([("A new text.", ["fresh"])])):
        scored = model.score(given, state)
        again = model.score(given, None if state is None else model.load(model.dump(state)))
        assert scored.credibility.shape == (len(given.candidates),)
        assert ((scored.credibility >= 0) & (scored.credibility <= 1)).all()
        assert np.array_equal(scored.credibility, again.credibility)
        assert all(0 <= value <= 1 for value in scored.reliability.values())
        state = scored.state
    assert {"h0", "l0", "fresh"} <= set(scored.reliability)


@pytest.mark.parametrize("name", ["default", "channels", "agreement", "truth-discovery", "dawid-skene"])
def test_models_that_compare_documents_find_the_liars(name: str, checkpoint: Checkpoint) -> None:
    model, state = open_model(name, checkpoint), None
    for _ in range(8):
        scored = model.score(dispute_round(), state)
        state = scored.state
    assert scored.credibility[:3].min() > scored.credibility[3:].max()


def test_unknown_and_missing_models(checkpoint: Checkpoint) -> None:
    with pytest.raises(ConfigError, match="unknown model 'gat'; known: default"):
        open_model("gat", checkpoint)
    bare = Checkpoint({k: v for k, v in checkpoint.arrays.items() if "logistic" not in k}, checkpoint.meta)
    with pytest.raises(CheckpointError, match="carries no 'logistic' model"):
        open_model("logistic", bare)


def test_rows_are_node_features_and_the_base() -> None:
    graph = graph_of(dispute_round())
    rows = document_rows(graph.documents, graph.base * 100)
    assert rows.shape == (5, len(DOCUMENT_FEATURES) + 1)
    assert np.abs(rows[:, -1]).max() <= 8
