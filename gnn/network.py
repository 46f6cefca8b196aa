"""Graphs as tensors for the default network, and its parameters as checkpoint arrays."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import torch
from numpy.typing import NDArray

from gnn.graph import Graph
from gnn.model import CredibilityNetwork
from gnn.runner import PREFIX


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
    return {PREFIX + name: value.detach().numpy() for name, value in model.state_dict().items()}
