from __future__ import annotations

import subprocess
import sys
from dataclasses import replace

import numpy as np
import pytest
import torch

from core.errors import CheckpointError
from gnn.checkpoint import Checkpoint
from gnn.graph import Graph
from gnn.model import CredibilityNetwork, NetworkConfig
from gnn.network import export, tensors
from gnn.runner import NetworkRunner
from tests.gnn.parts import OTHER, TRUE, a_round, dispute_round, make_checkpoint
from tests.gnn.test_graph import graph_of


def trained(config: NetworkConfig, seed: int = 0) -> CredibilityNetwork:
    """A network far from its start, running statistics included."""
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)
        network = CredibilityNetwork(config).eval()
        with torch.no_grad():
            for value in network.state_dict().values():
                if value.is_floating_point():
                    value.add_(0.3 * torch.randn_like(value))
            network.document_norm.running_var.abs_().add_(0.1)
            network.source_norm.running_var.abs_().add_(0.1)
    return network


GRAPHS = {
    "dispute": lambda: graph_of(dispute_round(liars=4, honest=5)),
    "shared": lambda: graph_of(a_round([(TRUE, ["a", "b", "c"]), (OTHER, ["c"])])),
    "one": lambda: graph_of(a_round([(TRUE, ["a"])])),
    "no edges": lambda: replace(
        graph_of(dispute_round()),
        edge_index=np.zeros((2, 0), np.int64),
        edge_attr=np.zeros((0, 6), np.float32),
    ),
}


@pytest.mark.parametrize("name", GRAPHS)
@pytest.mark.parametrize(
    "config",
    [
        NetworkConfig(),
        NetworkConfig(hidden=8, heads=2, layers=1),
        NetworkConfig(hidden=12, heads=3, layers=3),
        NetworkConfig(hidden=8, heads=2, graph=False),
    ],
    ids=["default", "one layer", "three layers", "no graph"],
)
def test_the_logits_are_those_of_the_torch_model(name: str, config: NetworkConfig) -> None:
    network = trained(config)
    runner = NetworkRunner(Checkpoint(export(network), {"network": config.to_dict()}))
    graph: Graph = GRAPHS[name]()
    wanted = network(*tensors(graph)).detach().numpy()
    assert runner.logits(graph) == pytest.approx(wanted, rel=1e-4, abs=1e-4)


def test_an_untrained_one_gives_the_base() -> None:
    graph = graph_of(dispute_round())
    assert NetworkRunner(make_checkpoint(network=True)).logits(graph) == pytest.approx(graph.base, abs=1e-5)


def test_no_documents_no_logits() -> None:
    graph = graph_of(a_round([], sources=["a"]))
    assert NetworkRunner(make_checkpoint(network=True)).logits(graph).shape == (0,)


def test_parameters_that_do_not_fit_are_refused_when_it_is_opened() -> None:
    whole = make_checkpoint(network=True)
    arrays = {k: v for k, v in whole.arrays.items() if k != "network.head.2.bias"}
    with pytest.raises(CheckpointError, match=r"head\.2\.bias"):
        NetworkRunner(Checkpoint(arrays, whole.meta))
    arrays["network.head.2.bias"] = np.zeros(7, np.float32)
    arrays["network.head.0.weight"] = np.zeros((3, 5), np.float32)
    with pytest.raises(CheckpointError, match="does not fit"):
        NetworkRunner(Checkpoint(arrays, whole.meta))


def test_scoring_loads_no_torch() -> None:
    code = "import sys, gnn.scorer; sys.exit('torch' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0
