from __future__ import annotations

import pytest

from gnn.checkpoint import Checkpoint
from gnn.model import CredibilityNetwork, NetworkConfig
from gnn.network import NetworkRunner, export, tensors
from tests.gnn.parts import a_round, dispute_round, make_checkpoint
from tests.gnn.test_graph import graph_of


def test_export_and_load_give_the_same_logits() -> None:
    config = NetworkConfig(hidden=8, heads=2)
    network = CredibilityNetwork(config).eval()
    network.head[-1].weight.data.fill_(0.2)
    runner = NetworkRunner(Checkpoint(export(network), {"network": config.to_dict()}))
    graph = graph_of(dispute_round())
    assert runner.logits(graph) == pytest.approx(network(*tensors(graph)).detach().numpy(), abs=1e-6)


def test_an_untrained_one_gives_the_base() -> None:
    graph = graph_of(dispute_round())
    assert NetworkRunner(make_checkpoint(network=True)).logits(graph) == pytest.approx(graph.base, abs=1e-5)


def test_no_documents_no_logits() -> None:
    graph = graph_of(a_round([], sources=["a"]))
    assert NetworkRunner(make_checkpoint(network=True)).logits(graph).shape == (0,)


def test_arguments_of_forward() -> None:
    graph = graph_of(dispute_round())
    documents, sources, is_document, edge_index, edge_attr, base = tensors(graph)
    assert is_document.sum() == len(documents) == len(base)
    assert len(is_document) == len(documents) + len(sources)
    assert edge_index.shape[1] == len(edge_attr)
