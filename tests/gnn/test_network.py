from __future__ import annotations

import numpy as np
import pytest
import torch

from gnn.network import batched, export, tensors
from tests.gnn.parts import dispute_round
from tests.gnn.test_graph import graph_of
from tests.gnn.test_runner import NetworkConfig, trained


def test_arguments_of_forward() -> None:
    graph = graph_of(dispute_round())
    documents, sources, is_document, edge_index, edge_attr, base = tensors(graph)
    assert is_document.sum() == len(documents) == len(base)
    assert len(is_document) == len(documents) + len(sources)
    assert edge_index.shape[1] == len(edge_attr)


def test_a_batch_scores_each_graph_as_if_it_were_alone() -> None:
    network = trained(NetworkConfig(hidden=8, heads=2))
    graphs = [graph_of(dispute_round(liars=k, honest=3)) for k in (1, 2, 2)]
    with torch.no_grad():
        together = network(*batched(graphs)).numpy()
        alone = np.concatenate([network(*tensors(g)).numpy() for g in graphs])
    assert together == pytest.approx(alone, abs=1e-4)


def test_export_names_every_parameter() -> None:
    network = trained(NetworkConfig(hidden=8, heads=2))
    assert set(export(network)) == {f"network.{name}" for name in network.state_dict()}
