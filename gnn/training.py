"""Trains the default network on labelled graphs."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
import torch
from numpy.typing import NDArray

from gnn.graph import Graph
from gnn.model import CredibilityNetwork, NetworkConfig
from gnn.network import batched, tensors

_BATCH = 16


@dataclass(frozen=True)
class GraphSample:
    """A graph and (n,) labels: 1 sound, 0 malicious, -1 unknown."""

    graph: Graph
    labels: NDArray[np.int8]


def train_network(
    train: Sequence[GraphSample],
    validation: Sequence[GraphSample],
    config: NetworkConfig,
    *,
    epochs: int,
    seed: int,
    rate: float = 2e-3,
    patience: int = 8,
    report: Callable[[str], None] = lambda line: None,
) -> CredibilityNetwork:
    """AdamW on batches of rounds, the best epoch by validation loss kept.

    Deterministic for a seed on one machine. The running statistics of the inputs are fitted to the
    training rounds first.
    """
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed % 2**63)
        model = CredibilityNetwork(config)
        _fit_norms(model, train)
        optimiser = torch.optim.AdamW(model.parameters(), lr=rate, weight_decay=1e-3)
        schedule = torch.optim.lr_scheduler.CosineAnnealingLR(optimiser, max(1, epochs))
        best, kept, stale = _loss(model, validation or train), _copy(model), 0
        report(f"network before training: validation loss {best:.4f}")
        for epoch in range(epochs):
            model.train()
            _freeze_norms(model)
            order = torch.randperm(len(train)).tolist()
            for start in range(0, len(order), _BATCH):
                optimiser.zero_grad()
                chosen = [train[i] for i in order[start : start + _BATCH]]
                _batch_loss(model, chosen).backward()  # type: ignore[no-untyped-call]
                torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
                optimiser.step()
            schedule.step()
            value = _loss(model, validation or train)
            report(f"network epoch {epoch + 1} of {epochs}: validation loss {value:.4f}")
            if value < best - 1e-5:
                best, kept, stale = value, _copy(model), 0
            else:
                stale += 1
                if stale >= patience:
                    break
        model.load_state_dict(kept)
    return model.eval()


def predict(model: CredibilityNetwork, graph: Graph) -> NDArray[np.float64]:
    """(n,) logits of the documents of one graph."""
    with torch.inference_mode():
        return model(*tensors(graph)).double().numpy()


def round_weight(labels: NDArray[np.int8]) -> NDArray[np.float32]:
    """(n,) weights of a round's documents: each class half, unknown ones 0, summing to 1 (or 0)."""
    sound, false = labels == 1, labels == 0
    weight = sound / max(1, sound.sum()) + false / max(1, false.sum())
    return (weight / max(1e-9, weight.sum())).astype(np.float32)


def _batch_loss(model: CredibilityNetwork, samples: Sequence[GraphSample]) -> torch.Tensor:
    """Mean over rounds of the class-balanced cross-entropy of a round."""
    labels = torch.from_numpy(np.concatenate([s.labels for s in samples]).astype(np.float32))
    weight = torch.from_numpy(np.concatenate([round_weight(s.labels) for s in samples]))
    logits = model(*batched([s.graph for s in samples]))
    each = torch.nn.functional.binary_cross_entropy_with_logits(logits, labels.clamp(min=0), reduction="none")
    return (each * weight).sum() / len(samples)


def _loss(model: CredibilityNetwork, samples: Sequence[GraphSample]) -> float:
    model.eval()
    with torch.no_grad():
        parts = [samples[i : i + _BATCH] for i in range(0, len(samples), _BATCH)]
        return sum(float(_batch_loss(model, part)) * len(part) for part in parts) / len(samples)


def _fit_norms(model: CredibilityNetwork, samples: Sequence[GraphSample]) -> None:
    for norm, rows in (
        (model.document_norm, [s.graph.documents for s in samples]),
        (model.source_norm, [s.graph.sources for s in samples]),
    ):
        stacked = torch.from_numpy(np.concatenate(rows))
        norm.running_mean = stacked.mean(dim=0)
        norm.running_var = stacked.var(dim=0) + 1e-3


def _freeze_norms(model: CredibilityNetwork) -> None:
    """Input statistics stay as fitted: a round is too small a batch to estimate them."""
    model.document_norm.eval()
    model.source_norm.eval()


def _copy(model: CredibilityNetwork) -> dict[str, torch.Tensor]:
    return {name: value.detach().clone() for name, value in model.state_dict().items()}
