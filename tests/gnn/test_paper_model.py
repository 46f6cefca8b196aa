from __future__ import annotations

import pytest
import torch

from gnn.paper_model import N_STATIC, PaperConfig, PaperNetwork, ReliabilityGate

CONFIG = PaperConfig(hidden=16, heads=2)


def inputs(n: int = 6) -> tuple[torch.Tensor, ...]:
    generator = torch.Generator().manual_seed(0)
    edges = torch.randint(0, n, (2, 14), generator=generator)
    return (
        torch.randn(n, N_STATIC, generator=generator), torch.rand(n, 1, generator=generator),
        torch.rand(n, 1, generator=generator), edges,
    )  # fmt: skip


def network(config: PaperConfig = CONFIG) -> PaperNetwork:
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(1)
        return PaperNetwork(config).eval()


def test_shapes() -> None:
    logits, h, assignment = network()(*inputs())
    assert logits.shape == (6,)
    assert h.shape == (6, 16)
    assert assignment.shape == (6, 2)
    assert torch.allclose(assignment.sum(dim=1), torch.ones(6))


def test_the_gate_lies_between_zero_and_one_and_equation_9_holds() -> None:
    gate = ReliabilityGate(8)
    now, before = torch.rand(50, 1) * 2 - 0.5, torch.rand(50, 1)
    both = torch.cat([now, before], dim=1)
    opened = torch.sigmoid(gate.gate(both))
    assert ((opened >= 0) & (opened <= 1)).all()
    assert torch.allclose(gate(now, before), opened * gate.mlp(both) + gate.project(now))
    assert float(gate.l1().detach()) == pytest.approx(float(gate.gate.weight.detach().abs().sum()))
    closed = ReliabilityGate(8)
    with torch.no_grad():
        closed.gate.weight.zero_()
        closed.gate.bias.fill_(-100.0)
    assert torch.allclose(closed(now, before), closed.project(now))


def test_reliability_before_matters_only_through_the_gate() -> None:
    static, now, before, edges = inputs()
    gated, plain = network(), network(PaperConfig(hidden=16, heads=2, gate=False))
    with torch.no_grad():
        assert not torch.equal(gated(static, now, before, edges)[0], gated(static, now, 1 - before, edges)[0])
        assert torch.equal(plain(static, now, before, edges)[0], plain(static, now, 1 - before, edges)[0])


def test_the_penalty_is_an_input_and_none_means_zero() -> None:
    static, now, before, edges = inputs()
    net = network()
    with torch.no_grad():
        none = net(static, now, before, edges)[0]
        assert torch.equal(none, net(static, now, before, edges, torch.zeros(6, 1))[0])
        assert not torch.equal(none, net(static, now, before, edges, torch.ones(6, 1))[0])


def test_without_the_graph_edges_change_nothing() -> None:
    static, now, before, edges = inputs()
    for graph in (True, False):
        net = network(PaperConfig(hidden=16, heads=2, graph=graph))
        with torch.no_grad():
            same = torch.equal(net(static, now, before, edges)[0], net(static, now, before, edges[:, :0])[0])
        assert same != graph


def test_prototypes_can_be_left_out() -> None:
    net = network(PaperConfig(hidden=16, heads=2, prototypes=False))
    with torch.no_grad():
        before = net(*inputs())[0]
        net.prototypes.mul_(-3.0)
        assert torch.equal(before, net(*inputs())[0])


def test_soft_in_training_so_that_prototypes_learn() -> None:
    net = network().train()
    net(*inputs())[0].sum().backward()
    assert net.prototypes.grad is not None
    assert net.prototypes.grad.abs().sum() > 0
