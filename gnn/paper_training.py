"""Trains the paper's network on episodes of rounds: Eq. 10-13, AdamW, cyclic learning rate."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
import torch
from numpy.typing import NDArray

from gnn.losses import classification_loss, topology_loss, topology_weight
from gnn.paper import PREFIX, PaperGraph, PaperState, smooth, source_values
from gnn.paper_model import PaperConfig, PaperNetwork

GATE_L1 = 0.01
PaperEpisode = Sequence[tuple[PaperGraph, NDArray[np.int8]]]


def train_paper(
    episodes: Sequence[PaperEpisode],
    config: PaperConfig,
    *,
    epochs: int,
    seed: int,
    topology: bool = True,
    report: Callable[[str], None] = lambda line: None,
) -> PaperNetwork:
    """The network after `epochs` passes; reliability follows Eq. 13 from its own scores in every episode.

    `topology` False leaves the topology loss (Eq. 11) out.
    """
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed % 2**63)
        network = PaperNetwork(config)
        optimiser = torch.optim.AdamW(network.parameters(), lr=1e-3, weight_decay=1e-5)
        schedule = torch.optim.lr_scheduler.CyclicLR(
            optimiser, base_lr=1e-5, max_lr=1e-3, step_size_up=200, cycle_momentum=False
        )
        for epoch in range(epochs):
            network.train()
            total, steps = 0.0, 0
            weight = topology_weight(epoch, epochs) if topology else 0.0
            for k in torch.randperm(len(episodes)).tolist():
                state = PaperState({}, {})
                for graph, labels in episodes[k]:
                    target = torch.from_numpy(labels.astype(np.int64))
                    logits, h, assignment = network(
                        torch.from_numpy(graph.static),
                        torch.from_numpy(source_values(graph, state.now)),
                        torch.from_numpy(source_values(graph, state.before)),
                        torch.from_numpy(graph.edge_index),
                    )
                    loss = classification_loss(logits, target, target >= 0)
                    if weight:
                        loss = loss + weight * topology_loss(h, assignment)
                    if config.gate:
                        loss = loss + GATE_L1 * network.reliability.l1()
                    optimiser.zero_grad()
                    loss.backward()  # type: ignore[no-untyped-call]
                    optimiser.step()
                    schedule.step()
                    total, steps = total + float(loss.detach()), steps + 1
                    state = smooth(graph, torch.sigmoid(logits.detach()).double().numpy(), state)
            report(f"paper network epoch {epoch + 1} of {epochs}: loss {total / max(1, steps):.4f}")
    return network.eval()


def export_paper(network: PaperNetwork) -> dict[str, NDArray[np.float32]]:
    """Parameters as checkpoint arrays."""
    return {PREFIX + name: value.detach().numpy() for name, value in network.state_dict().items()}
