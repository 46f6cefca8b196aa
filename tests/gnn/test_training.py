from __future__ import annotations

import numpy as np
import pytest
import torch

from gnn.model import NetworkConfig
from gnn.training import GraphSample, predict, train_network
from tests.gnn.parts import dispute_round
from tests.gnn.test_graph import graph_of

SIZES = NetworkConfig(hidden=8, heads=2, dropout=0.0)


@pytest.fixture(scope="module")
def samples() -> list[GraphSample]:
    """The channels are told to be wrong: training has to turn their verdict round."""
    found = []
    for liars in (1, 2):
        graph = graph_of(dispute_round(liars=liars, honest=4))
        labels = np.array([0] * 4 + [1] * liars, np.int8)
        found.append(GraphSample(graph, labels))
    return found


def test_it_learns_and_keeps_the_best_epoch(samples: list[GraphSample]) -> None:
    lines: list[str] = []
    model = train_network(samples, samples, SIZES, epochs=60, seed=0, rate=2e-2, report=lines.append)
    losses = [float(line.rsplit(" ", 1)[1]) for line in lines]
    assert min(losses) < losses[0]
    for sample in samples:
        logits = predict(model, sample.graph)
        assert logits[sample.labels == 1].min() > logits[sample.labels == 0].max()


def test_equal_seeds_give_equal_networks(samples: list[GraphSample]) -> None:
    one, two = (train_network(samples, [], SIZES, epochs=2, seed=3) for _ in range(2))
    assert all(torch.equal(v, two.state_dict()[k]) for k, v in one.state_dict().items())


def test_input_statistics_are_those_of_the_training_rounds(samples: list[GraphSample]) -> None:
    model = train_network(samples, [], SIZES, epochs=1, seed=0)
    rows = np.concatenate([s.graph.documents for s in samples])
    assert model.document_norm.running_mean.numpy() == pytest.approx(rows.mean(axis=0), abs=1e-4)


def test_it_stops_where_validation_no_longer_improves(samples: list[GraphSample]) -> None:
    lines: list[str] = []
    right = [GraphSample(s.graph, (1 - s.labels).astype(np.int8)) for s in samples]
    train_network(samples, right, SIZES, epochs=200, seed=0, patience=2, report=lines.append)
    assert len(lines) < 150
