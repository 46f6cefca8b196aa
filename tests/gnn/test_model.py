from __future__ import annotations

import numpy as np
import pytest
import torch

from gnn.model import CredibilityNetwork, NetworkConfig
from gnn.network import tensors
from tests.gnn.parts import a_round, dispute_round
from tests.gnn.test_graph import graph_of

SMALL = NetworkConfig(hidden=8, heads=2)


def test_untrained_it_equals_the_channels() -> None:
    graph = graph_of(dispute_round())
    found = CredibilityNetwork(SMALL).eval()(*tensors(graph))
    assert found.detach().numpy() == pytest.approx(graph.base, abs=1e-6)


def test_what_it_learns_reaches_every_part() -> None:
    graph = graph_of(dispute_round())
    network = CredibilityNetwork(SMALL).eval()
    with torch.no_grad():
        network.head[-1].weight.fill_(0.1)
    network(*tensors(graph)).sum().backward()
    for name, parameter in network.named_parameters():
        assert parameter.grad is not None, name
        assert torch.isfinite(parameter.grad).all(), name


def test_without_the_graph_neighbours_change_nothing() -> None:
    torch.manual_seed(0)
    graph = graph_of(dispute_round())
    args = list(tensors(graph))
    fewer = [*args]
    fewer[3], fewer[4] = args[3][:, :0], args[4][:0]
    for use_graph in (True, False):
        network = CredibilityNetwork(NetworkConfig(hidden=8, heads=2, graph=use_graph)).eval()
        with torch.no_grad():
            network.head[-1].weight.fill_(0.3)
            same = torch.allclose(network(*args), network(*fewer), atol=1e-5)
        assert same != use_graph


def test_the_order_of_documents_does_not_matter() -> None:
    network = CredibilityNetwork(SMALL).eval()
    with torch.no_grad():
        torch.nn.init.normal_(network.head[-1].weight, generator=torch.Generator().manual_seed(1))
        given = dispute_round()
        held = [(c.text, c.sources) for c in given.candidates]
        forward = network(*tensors(graph_of(a_round(held))))
        backward = network(*tensors(graph_of(a_round(held[::-1]))))
    assert backward.numpy()[::-1] == pytest.approx(forward.numpy(), abs=1e-3)


def test_sizes_travel_as_plain_values() -> None:
    assert NetworkConfig(**SMALL.to_dict()) == SMALL
    assert np.isfinite([float(v) for v in SMALL.to_dict().values()]).all()
