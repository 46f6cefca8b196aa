from __future__ import annotations

import math

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from gnn.losses import classification_loss, topology_loss, topology_weight


@given(st.integers(1, 200))
def test_the_topology_weight_falls_from_one_to_zero(epochs: int) -> None:
    values = [topology_weight(e, epochs) for e in range(epochs + 1)]
    assert values[0] == 1.0
    assert values[-1] == pytest.approx(0.0)
    assert values == sorted(values, reverse=True)
    assert values[epochs // 2] == pytest.approx(0.5 * (1 + math.cos(math.pi * (epochs // 2) / epochs)))


def test_topology_loss_by_hand() -> None:
    """Two orthogonal pairs, each its own cluster: cosines are 1, 0, 0, 0, 0, 1."""
    h = torch.tensor([[1.0, 0], [2.0, 0], [0, 1.0], [0, 3.0]])
    assignment = torch.tensor([[1.0, 0], [1.0, 0], [0, 1.0], [0, 1.0]])
    variance = torch.tensor([1.0, 0, 0, 0, 0, 1.0]).var()
    contrast = -math.log(math.exp(1 / 0.5) / (math.exp(1 / 0.5) + math.exp(0.0)))
    assert float(topology_loss(h, assignment, 0.5)) == pytest.approx(float(variance) + contrast, abs=1e-4)


def test_own_cluster_near_is_cheaper_and_the_loss_is_bounded_below() -> None:
    h = torch.tensor([[1.0, 0], [1.0, 0.1], [0, 1.0], [0.1, 1.0]])
    right = torch.tensor([[1.0, 0], [1.0, 0], [0, 1.0], [0, 1.0]])
    wrong = torch.tensor([[1.0, 0], [0, 1.0], [1.0, 0], [0, 1.0]])
    assert topology_loss(h, right) < topology_loss(h, wrong)
    assert float(topology_loss(h * 1e3, right)) >= 0.0


def test_two_documents_have_no_topology() -> None:
    assert float(topology_loss(torch.ones(2, 3), torch.ones(2, 2) / 2)) == 0.0


def test_gradients_flow_through_a_soft_assignment() -> None:
    torch.manual_seed(0)
    h = torch.randn(5, 4, requires_grad=True)
    topology_loss(h, torch.softmax(h[:, :2], dim=1)).backward()
    assert h.grad is not None
    assert torch.isfinite(h.grad).all()


def test_classes_weigh_the_same() -> None:
    labels = torch.tensor([1, 1, 1, 0])
    logits = torch.tensor([2.0, 2.0, 2.0, 2.0])
    wanted = 0.5 * math.log1p(math.exp(-2)) + 0.5 * math.log1p(math.exp(2))
    assert float(classification_loss(logits, labels, labels >= 0)) == pytest.approx(wanted, abs=1e-5)


def test_unlabelled_documents_count_nothing_and_one_class_is_a_mean() -> None:
    labels = torch.tensor([1, -1, 1])
    logits = torch.tensor([0.0, 9.0, 0.0])
    assert float(classification_loss(logits, labels, labels >= 0)) == pytest.approx(math.log(2))
    none = torch.tensor([-1, -1, -1])
    assert float(classification_loss(logits, none, none >= 0)) == 0.0
