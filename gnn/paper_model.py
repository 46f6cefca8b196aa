"""The paper's dynamic graph neural network (section IV-B, Fig. 2), the named variant `paper`."""

from __future__ import annotations

from dataclasses import asdict, dataclass

import torch
from torch import Tensor, nn
from torch.nn import functional as F
from torch_geometric.nn import GATConv

N_STATIC = 12
N_PENALTY = 1  # the commonsense penalty, 0 where no audit took place


@dataclass(frozen=True)
class PaperConfig:
    """Sizes that the paper leaves open, and switches that ablate its parts."""

    hidden: int = 64
    heads: int = 4
    dropout: float = 0.1
    gate: bool = True
    prototypes: bool = True
    graph: bool = True

    def to_dict(self) -> dict[str, float]:
        return asdict(self)


class ReliabilityGate(nn.Module):
    """Eq. 9: gate * MLP([rel_t, rel_{t-1}]) + Linear(rel_t).

    Shapes: two (n, 1) reliabilities in [0,1] -> (n, width).
    """

    def __init__(self, width: int = 8) -> None:
        super().__init__()
        self.mlp = nn.Sequential(nn.Linear(2, width), nn.ReLU(), nn.Linear(width, width))
        self.gate = nn.Linear(2, width)
        self.project = nn.Linear(1, width)

    def forward(self, now: Tensor, before: Tensor) -> Tensor:
        both = torch.cat([now, before], dim=1)
        return torch.sigmoid(self.gate(both)) * self.mlp(both) + self.project(now)

    def l1(self) -> Tensor:
        """L1 norm of the gate weights (Eq. 10)."""
        return self.gate.weight.abs().sum()


class PaperNetwork(nn.Module):
    """Gate, encoder, two GAT layers with residuals, two prototypes, dual-channel classifier.

    The attention uses ReLU scoring in the paper's Eq. 44; PyG's LeakyReLU with slope 0 is the same.
    Cluster assignment is soft in training (an argmax carries no gradient) and hard in evaluation.
    """

    def __init__(self, config: PaperConfig) -> None:
        super().__init__()
        self.config = config
        width = 8
        self.reliability = ReliabilityGate(width)
        self.encoder = nn.Sequential(
            nn.Linear(N_STATIC + N_PENALTY + width, config.hidden), nn.LayerNorm(config.hidden), nn.ReLU()
        )
        per_head = config.hidden // config.heads
        self.attention = nn.ModuleList(
            GATConv(config.hidden, per_head, config.heads, negative_slope=0.0, dropout=config.dropout)
            for _ in range(2)
        )
        self.prototypes = nn.Parameter(torch.randn(2, config.hidden) / config.hidden**0.5)
        self.local = nn.Sequential(nn.Linear(config.hidden, config.hidden // 2), nn.ReLU())
        self.overall = nn.Sequential(nn.Linear(2, config.hidden // 2), nn.ReLU())
        self.head = nn.Linear(config.hidden, 1)

    def forward(
        self, static: Tensor, now: Tensor, before: Tensor, edge_index: Tensor, penalty: Tensor | None = None
    ) -> tuple[Tensor, Tensor, Tensor]:
        """Score documents.

        Shapes: static (n, 12), now and before (n, 1), edge_index (2, e), penalty (n, 1) in [0,1] ->
        logits (n,), representations (n, hidden), soft cluster assignment (n, 2).
        """
        if penalty is None:
            penalty = static.new_zeros(len(static), 1)
        trust = self.reliability(now, before)
        if not self.config.gate:
            trust = now.expand_as(trust)
        h = self.encoder(torch.cat([static, penalty, trust], dim=1))
        if self.config.graph:
            for layer in self.attention:
                h = h + F.elu(layer(h, edge_index))
        scores = h @ self.prototypes.T / self.config.hidden**0.5
        assignment = torch.softmax(scores, dim=1)
        if not self.training:
            assignment = F.one_hot(assignment.argmax(dim=1), 2).to(h.dtype)
        clusters = assignment if self.config.prototypes else torch.zeros_like(assignment)
        logits = self.head(torch.cat([self.local(h), self.overall(clusters)], dim=1)).squeeze(1)
        return logits, h, torch.softmax(scores, dim=1)
