from __future__ import annotations

import numpy as np
import torch

from gnn.paper import PaperGraph, paper_graph
from gnn.paper_model import PaperConfig
from gnn.paper_training import export_paper, train_paper
from tests.gnn.parts import dispute_round
from tests.gnn.test_paper import CATEGORIES

SIZES = PaperConfig(hidden=16, heads=2)


def episodes() -> list[list[tuple[PaperGraph, np.ndarray]]]:
    graph = paper_graph(dispute_round(), CATEGORIES)
    labels = np.array([1, 1, 1, 0, 0], np.int8)
    return [[(graph, labels), (graph, labels)]]


def test_training_is_reproducible_and_reports_each_epoch() -> None:
    lines: list[str] = []
    one = train_paper(episodes(), SIZES, epochs=3, seed=4, report=lines.append)
    two = train_paper(episodes(), SIZES, epochs=3, seed=4)
    assert len(lines) == 3
    for name, value in one.state_dict().items():
        assert torch.equal(value, two.state_dict()[name]), name
    other = train_paper(episodes(), SIZES, epochs=3, seed=5)
    assert any(not torch.equal(v, other.state_dict()[k]) for k, v in one.state_dict().items())


def test_it_leaves_the_global_random_state_alone() -> None:
    torch.manual_seed(0)
    wanted = torch.rand(3)
    torch.manual_seed(0)
    train_paper(episodes(), SIZES, epochs=1, seed=4)
    assert torch.equal(torch.rand(3), wanted)


def test_the_loss_falls() -> None:
    lines: list[str] = []
    train_paper(episodes(), SIZES, epochs=60, seed=0, report=lines.append)
    losses = [float(line.rsplit(" ", 1)[1]) for line in lines]
    assert losses[-1] < losses[0]


def test_export_is_a_copy_of_every_parameter() -> None:
    network = train_paper(episodes(), SIZES, epochs=1, seed=0)
    arrays = export_paper(network)
    assert set(arrays) == {f"paper.{name}" for name in network.state_dict()}
