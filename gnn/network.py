"""Runs the trained default network on graphs, one round at a time."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import torch
from numpy.typing import NDArray

from gnn.checkpoint import Checkpoint
from gnn.graph import Graph
from gnn.model import CredibilityNetwork, NetworkConfig

_PREFIX = "network."


class NetworkRunner:
    """The network of a checkpoint in evaluation mode; the device is torch's default one."""

    def __init__(self, checkpoint: Checkpoint) -> None:
        self.model = CredibilityNetwork(NetworkConfig(**checkpoint.meta["network"]))
        state = {
            name.removeprefix(_PREFIX): torch.from_numpy(np.array(array))
            for name, array in checkpoint.arrays.items()
            if name.startswith(_PREFIX)
        }
        self.model.load_state_dict(state)
        self.model.eval()

    def logits(self, graph: Graph) -> NDArray[np.float64]:
        """(n,) logits of the documents of `graph`."""
        if not len(graph.documents):
            return np.zeros(0)
        with torch.inference_mode():
            return self.model(*tensors(graph)).double().numpy()


def tensors(graph: Graph) -> tuple[torch.Tensor, ...]:
    """`graph` as the arguments of `CredibilityNetwork.forward`."""
    n, m = len(graph.documents), len(graph.sources)
    return (
        torch.from_numpy(graph.documents),
        torch.from_numpy(graph.sources),
        torch.arange(n + m) < n,
        torch.from_numpy(graph.edge_index),
        torch.from_numpy(graph.edge_attr),
        torch.from_numpy(graph.base),
    )


def batched(graphs: Sequence[Graph]) -> tuple[torch.Tensor, ...]:
    """Several graphs as one without edges between them; documents stand in the order of `graphs`."""
    kinds = [np.arange(len(g.documents) + len(g.sources)) < len(g.documents) for g in graphs]
    shifts = np.concatenate([[0], np.cumsum([len(kind) for kind in kinds])])
    return (
        torch.from_numpy(np.concatenate([g.documents for g in graphs])),
        torch.from_numpy(np.concatenate([g.sources for g in graphs])),
        torch.from_numpy(np.concatenate(kinds)),
        torch.from_numpy(
            np.concatenate([g.edge_index + s for g, s in zip(graphs, shifts, strict=False)], axis=1)
        ),
        torch.from_numpy(np.concatenate([g.edge_attr for g in graphs])),
        torch.from_numpy(np.concatenate([g.base for g in graphs])),
    )


def export(model: CredibilityNetwork) -> dict[str, NDArray[np.float32]]:
    """Parameters and running statistics of `model` as checkpoint arrays."""
    return {_PREFIX + name: value.detach().numpy() for name, value in model.state_dict().items()}
