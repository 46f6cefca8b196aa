"""The variant `paper` end to end: its features, network, uncertain zone and Eq. 13 reliability."""

from __future__ import annotations

import io
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray

from core.embedding.base import Embedder
from core.errors import CheckpointError
from gnn.checkpoint import Checkpoint
from gnn.features import composite_similarity, edges_above, node_features
from gnn.paper_model import PaperConfig, PaperNetwork
from gnn.round import VerificationRound
from gnn.scorer import Scored

PREFIX = "paper."
SETTINGS = {"alpha": 0.7, "edge_quantile": 0.75, "momentum": 0.9, "start": 0.5}


@dataclass(frozen=True)
class PaperState:
    """Eq. 13's reliability at t and t-1 of each source."""

    now: Mapping[str, float]
    before: Mapping[str, float]


@dataclass(frozen=True)
class PaperGraph:
    """Static features (n, 12), edges (2, e) and holders (n, m) of one round."""

    static: NDArray[np.float32]
    edge_index: NDArray[np.int64]
    holders: NDArray[np.bool_]
    sources: tuple[str, ...]


def paper_graph(given: VerificationRound, category_vectors: NDArray[np.float32]) -> PaperGraph:
    """Eq. 7-8 and appendix A on one round.

    `category_vectors` (c, d) are unit embeddings of category descriptions; a document's category is its
    nearest one.
    """
    category = (given.vectors @ category_vectors.T).argmax(axis=1)
    similarity = composite_similarity(given.vectors, category_vectors[category], SETTINGS["alpha"])
    adjacency = edges_above(similarity, SETTINGS["edge_quantile"])
    static = node_features(
        given.question, given.texts, given.vectors, given.question_vector, category, adjacency
    )
    return PaperGraph(static, np.stack(np.nonzero(adjacency)).astype(np.int64), given.holders, given.sources)


def source_values(graph: PaperGraph, values: Mapping[str, float]) -> NDArray[np.float32]:
    """(n, 1) reliability of each document: that of its best holder (a text held twice is one node)."""
    row = np.array([values.get(name, SETTINGS["start"]) for name in graph.sources], dtype=np.float32)
    return np.where(graph.holders, row[None, :], 0.0).max(axis=1, keepdims=True).astype(np.float32)


def smooth(graph: PaperGraph, credibility: NDArray[np.float64], state: PaperState) -> PaperState:
    """Eq. 13: each answering source moves towards its documents' mean credibility."""
    now = dict(state.now)
    for j, name in enumerate(graph.sources):
        held = graph.holders[:, j]
        old = now.get(name, SETTINGS["start"])
        if held.any():
            beta = SETTINGS["momentum"]
            now[name] = beta * old + (1 - beta) * float(credibility[held].mean())
        else:
            now[name] = old
    return PaperState(now, dict(state.now))


class PaperModel:
    """Scores rounds by the paper's network alone.

    Raises:
        CheckpointError: the checkpoint carries no paper network.
    """

    def __init__(self, checkpoint: Checkpoint) -> None:
        if "paper" not in checkpoint.meta:
            raise CheckpointError("this checkpoint carries no 'paper' network; train with --baselines")
        self.network = PaperNetwork(PaperConfig(**checkpoint.meta["paper"]))
        self.network.load_state_dict(
            {
                name.removeprefix(PREFIX): torch.from_numpy(np.array(array))
                for name, array in checkpoint.arrays.items()
                if name.startswith(PREFIX)
            }
        )
        self.network.eval()
        self._categories = np.asarray(checkpoint.arrays["paper_categories"], np.float32)

    def score(self, given: VerificationRound, state: Any = None) -> Scored:
        state = state or PaperState({}, {})
        graph = paper_graph(given, self._categories)
        logits = forward(self.network, graph, state)
        with torch.inference_mode():
            credibility = torch.sigmoid(logits).double().numpy()
        after = smooth(graph, credibility, state)
        evidence: tuple[Mapping[str, float], ...] = tuple(
            {"degree": round(float(row[8]), 4), "cohesion": round(float(row[10]), 4)} for row in graph.static
        )
        return Scored(credibility, dict(after.now), after, evidence, np.zeros(len(credibility)))

    def dump(self, state: PaperState) -> bytes:
        buffer = io.BytesIO()
        names = sorted(state.now)
        np.savez(
            buffer,
            sources=np.array(names),
            now=np.array([state.now[n] for n in names]),
            before=np.array([state.before.get(n, SETTINGS["start"]) for n in names]),
        )
        return buffer.getvalue()

    def load(self, data: bytes) -> PaperState:
        with np.load(io.BytesIO(data), allow_pickle=False) as arrays:
            names = [str(name) for name in arrays["sources"]]
            return PaperState(
                dict(zip(names, arrays["now"].tolist(), strict=True)),
                dict(zip(names, arrays["before"].tolist(), strict=True)),
            )


def forward(network: PaperNetwork, graph: PaperGraph, state: PaperState) -> torch.Tensor:
    """(n,) logits of one round under the reliabilities of `state`."""
    return network(
        torch.from_numpy(graph.static),
        torch.from_numpy(source_values(graph, state.now)),
        torch.from_numpy(source_values(graph, state.before)),
        torch.from_numpy(graph.edge_index),
    )[0]


def category_vectors(embedder: Embedder, descriptions: Sequence[str]) -> NDArray[np.float32]:
    """(c, d) unit vectors of category descriptions."""
    return embedder.embed(list(descriptions))
