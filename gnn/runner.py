"""Runs the trained default network on graphs in numpy: scoring a round needs neither torch nor its start-up.

The arithmetic is that of `gnn.model.CredibilityNetwork` in evaluation mode (tested against it); a round has
some sixty nodes, for which a tensor library spends more time on calls than on numbers.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from core.errors import CheckpointError
from gnn.checkpoint import Checkpoint
from gnn.graph import DOCUMENT_FEATURES, EDGE_FEATURES, SOURCE_FEATURES, Graph

PREFIX = "network."
_EPSILON = 1e-5  # of both normalisations
_SLOPE = 0.2  # of GATv2's leaky ReLU
Array = NDArray[np.float32]


class NetworkRunner:
    """The network of a checkpoint.

    Raises:
        CheckpointError: its parameters do not fit this version.
    """

    def __init__(self, checkpoint: Checkpoint) -> None:
        sizes = checkpoint.meta["network"]
        self._heads = int(sizes["heads"])
        self._layers = int(sizes["layers"]) if sizes.get("graph", True) else 0
        self._arrays: Mapping[str, Array] = {
            name.removeprefix(PREFIX): np.asarray(array, dtype=np.float32)
            for name, array in checkpoint.arrays.items()
            if name.startswith(PREFIX) and not name.endswith("num_batches_tracked")
        }
        try:
            self._encoders = {kind: self._encoder(kind) for kind in ("document", "source")}
            self.logits(_SMALLEST)
        except (KeyError, ValueError) as error:
            raise CheckpointError(f"the network in this checkpoint does not fit: {error}") from None

    def _encoder(self, kind: str) -> tuple[Array, Array]:
        """The first layer of an encoder, with the standardisation of its inputs in it."""
        a = self._arrays
        scale = np.sqrt(a[f"{kind}_norm.running_var"] + _EPSILON)
        weight = (a[f"{kind}_encoder.0.weight"] / scale).T
        return weight, a[f"{kind}_encoder.0.bias"] - a[f"{kind}_norm.running_mean"] @ weight

    def logits(self, graph: Graph) -> NDArray[np.float64]:
        """(n,) logits of the documents of `graph`."""
        n = len(graph.documents)
        if not n:
            return np.zeros(0)
        h = np.concatenate([self._encode("document", graph.documents), self._encode("source", graph.sources)])
        first = h[:n]
        if self._layers:
            edges = _sorted_edges(graph, len(h))
            for k in range(self._layers):
                if k + 1 == self._layers:  # what the last layer would tell sources, nobody reads
                    edges = edges.into(n)
                h = h[: edges.nodes] + _elu(self._attend(k, self._layer_norm(k, h), edges))
        hidden = np.maximum(self._linear("head.0", np.concatenate([first, h[:n]], axis=1)), 0.0)
        correction = self._linear("head.2", hidden)[:, 0]
        a = self._arrays
        return (a["scale"] * graph.base + a["offset"] + correction).astype(np.float64)

    def _encode(self, kind: str, x: Array) -> Array:
        weight, bias = self._encoders[kind]
        return self._linear(f"{kind}_encoder.2", np.maximum(x @ weight + bias, 0.0))

    def _linear(self, name: str, x: Array) -> Array:
        return x @ self._arrays[f"{name}.weight"].T + self._arrays[f"{name}.bias"]

    def _layer_norm(self, k: int, h: Array) -> Array:
        centred = h - h.mean(axis=1, keepdims=True)
        variance = np.einsum("ij,ij->i", centred, centred) / np.float32(h.shape[1])
        centred /= np.sqrt(variance + np.float32(_EPSILON))[:, None]
        return centred * self._arrays[f"norms.{k}.weight"] + self._arrays[f"norms.{k}.bias"]

    def _attend(self, k: int, h: Array, edges: _Edges) -> Array:
        """GATv2 (Brody et al.): attention of each head over the edges into a node, values of the sources."""
        a, name = self._arrays, f"attention.{k}"
        value = self._linear(f"{name}.lin_l", h)
        out = np.zeros((edges.nodes, h.shape[1]), dtype=h.dtype)
        if len(edges.source):
            sent = value[edges.source]
            scored = edges.attributes @ a[f"{name}.lin_edge.weight"].T
            scored += sent
            scored += self._linear(f"{name}.lin_r", h[: edges.nodes])[edges.target]
            np.maximum(scored, _SLOPE * scored, out=scored)
            scored *= a[f"{name}.att"].reshape(-1)
            logit = scored.reshape(len(sent), self._heads, -1).sum(axis=2)
            logit -= np.maximum.reduceat(logit, edges.starts)[edges.group]
            weight = np.exp(logit, out=logit)
            weight /= np.add.reduceat(weight, edges.starts)[edges.group] + np.float32(1e-16)
            heads = sent.reshape(len(sent), self._heads, -1)
            heads *= weight[:, :, None]
            out[edges.reached] = np.add.reduceat(sent, edges.starts)
        return out + a[f"{name}.bias"]


_SMALLEST = Graph(
    np.zeros((1, len(DOCUMENT_FEATURES)), np.float32),
    np.zeros((1, len(SOURCE_FEATURES)), np.float32),
    np.array([[1], [0]]),
    np.zeros((1, len(EDGE_FEATURES)), np.float32),
    np.zeros(1, np.float32),
)


@dataclass(frozen=True)
class _Edges:
    """Edges into the first `nodes` nodes, sorted by target: `group` numbers it among the `reached` ones."""

    nodes: int
    source: NDArray[np.int64]
    target: NDArray[np.int64]
    attributes: Array
    starts: NDArray[Any]
    group: NDArray[Any]
    reached: NDArray[np.int64]

    def into(self, nodes: int) -> _Edges:
        """Only those into the first `nodes` nodes."""
        edges = int(np.searchsorted(self.target, nodes))
        reached = int(np.searchsorted(self.reached, nodes))
        return _Edges(
            nodes, self.source[:edges], self.target[:edges], self.attributes[:edges],
            self.starts[:reached], self.group[:edges], self.reached[:reached],
        )  # fmt: skip


def _sorted_edges(graph: Graph, n_nodes: int) -> _Edges:
    order = np.argsort(graph.edge_index[1], kind="stable")
    source, target = graph.edge_index[:, order]
    count = np.bincount(target, minlength=n_nodes)
    reached = np.flatnonzero(count)
    starts = np.cumsum(count[reached]) - count[reached]
    group = np.repeat(np.arange(len(reached)), count[reached])
    return _Edges(n_nodes, source, target, graph.edge_attr[order], starts, group, reached)


def _elu(x: Array) -> Array:
    return np.where(x > 0, x, np.expm1(np.minimum(x, 0.0)))
