"""The default network: graph attention over documents and sources that corrects the channels' verdict."""

from __future__ import annotations

from dataclasses import asdict, dataclass

import torch
from torch import Tensor, nn
from torch.nn import functional as F
from torch_geometric.nn import GATv2Conv

from gnn.graph import DOCUMENT_FEATURES, EDGE_FEATURES, SOURCE_FEATURES


@dataclass(frozen=True)
class NetworkConfig:
    """Sizes of the default network, chosen on validation rounds.

    `dropout` is of the attention. With half of it gone the network does no worse on the data that it is
    trained on, and keeps more of what the channels know on data that it is not (validation questions of
    finance_tatqa).
    """

    hidden: int = 48
    heads: int = 4
    layers: int = 2
    dropout: float = 0.5
    graph: bool = True

    def to_dict(self) -> dict[str, float]:
        return asdict(self)


class CredibilityNetwork(nn.Module):
    """Two GATv2 layers with residuals over typed nodes and attributed edges.

    The output is the channels' fused logit, rescaled, plus a correction that starts at zero: an
    untrained network equals the channels, and what it learns has to earn its place.
    """

    def __init__(self, config: NetworkConfig) -> None:
        super().__init__()
        self.config = config
        hidden = config.hidden
        self.document_norm = nn.BatchNorm1d(len(DOCUMENT_FEATURES), affine=False, momentum=0.05)
        self.source_norm = nn.BatchNorm1d(len(SOURCE_FEATURES), affine=False, momentum=0.05)
        self.document_encoder = nn.Sequential(
            nn.Linear(len(DOCUMENT_FEATURES), hidden), nn.ReLU(), nn.Linear(hidden, hidden)
        )
        self.source_encoder = nn.Sequential(
            nn.Linear(len(SOURCE_FEATURES), hidden), nn.ReLU(), nn.Linear(hidden, hidden)
        )
        self.attention = nn.ModuleList(
            GATv2Conv(
                hidden, hidden // config.heads, config.heads, edge_dim=len(EDGE_FEATURES),
                dropout=config.dropout, add_self_loops=False,
            )
            for _ in range(config.layers)
        )  # fmt: skip
        self.norms = nn.ModuleList(nn.LayerNorm(hidden) for _ in range(config.layers))
        self.head = nn.Sequential(nn.Linear(2 * hidden, hidden), nn.ReLU(), nn.Linear(hidden, 1))
        last = self.head[-1]
        assert isinstance(last, nn.Linear)
        nn.init.zeros_(last.weight)
        nn.init.zeros_(last.bias)
        self.scale = nn.Parameter(torch.ones(1))
        self.offset = nn.Parameter(torch.zeros(1))

    def forward(
        self,
        documents: Tensor,
        sources: Tensor,
        is_document: Tensor,
        edge_index: Tensor,
        edge_attr: Tensor,
        base: Tensor,
    ) -> Tensor:
        """Logits of the documents.

        Shapes: documents (n, fd), sources (m, fs), is_document (n+m,) bool giving the node order,
        edge_index (2, e), edge_attr (e, 6), base (n,) -> (n,).
        """
        own = self.document_encoder(self.document_norm(documents))
        h = own.new_zeros(len(is_document), self.config.hidden)
        h[is_document] = own
        h[~is_document] = self.source_encoder(self.source_norm(sources))
        first = h
        if self.config.graph:
            for layer, norm in zip(self.attention, self.norms, strict=True):
                h = h + F.elu(layer(norm(h), edge_index, edge_attr))
        correction = self.head(torch.cat([first[is_document], h[is_document]], dim=1)).squeeze(1)
        return self.scale * base + self.offset + correction
