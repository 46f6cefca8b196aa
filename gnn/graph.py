"""The verification graph that the network scores: documents and sources, typed and attributed edges."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from gnn.content import FEATURES as CONTENT_FEATURES
from gnn.signals import Signals, logit

DOCUMENT_FEATURES = (
    *CONTENT_FEATURES, "margin", "logit_verification", "logit_any_honest", "tampering", "agree_degree",
    "conflict_degree", "holders_suspect", "lie_rate", "collusion", "noise", "planting", "acquaintance",
)  # fmt: skip
SOURCE_FEATURES = (
    "logit_honest",
    "content_level",
    "documents",
    "margin_min",
    "margin_mean",
    "tampering_mean",
)
EDGE_FEATURES = ("agree", "conflict", "cosine", "same_source", "holds", "held_by")
SCHEMA = "graph/4/" + "+".join((*DOCUMENT_FEATURES, "|", *SOURCE_FEATURES, "|", *EDGE_FEATURES))
_CLIP = 8.0
_NEAR = 0.6  # documents more similar than this are linked even where no sentence aligns
_MOST_EDGES = 24  # per document, strongest first: keeps a round of 1,000 documents linear


@dataclass(frozen=True)
class Graph:
    """Arrays of one verification graph.

    `documents` (n, fd) and `sources` (m, fs) node features; nodes 0..n-1 are documents, n..n+m-1
    sources. `edge_index` (2, e) from -> to; `edge_attr` (e, 6). `base` (n,) fused logit of the channels.
    """

    documents: NDArray[np.float32]
    sources: NDArray[np.float32]
    edge_index: NDArray[np.int64]
    edge_attr: NDArray[np.float32]
    base: NDArray[np.float32]


def build_graph(signals: Signals) -> Graph:
    """The graph of one round from its signals; all features finite and clipped to [-8, 8].

    `acquaintance` is 1 where the sources are met for the first time, 1/r in their r-th round.
    """
    holders = signals.evidence.holders
    n = len(holders)
    relations = signals.relations
    honest = np.clip(signals.beliefs.honest, 1e-4, 1 - 1e-4)
    any_honest = np.clip(signals.any_honest, 1e-4, 1 - 1e-4)
    held = holders.astype(np.float64)
    count = np.maximum(1.0, held.sum(axis=1))
    documents = np.column_stack(
        [
            signals.content,
            signals.margin,
            logit(signals.verification),
            logit(any_honest),
            signals.tampering,
            relations.degree(relations.agreed),
            relations.degree(relations.contested),
            held @ np.maximum(signals.evidence.levels, 0) / count,
            np.full(n, signals.way.rate),
            np.full(n, signals.way.colluding),
            np.full(n, signals.way.noise),
            np.full(n, signals.way.planting),
            np.full(n, 1.0 / max(1, signals.beliefs.rounds)),
        ]
    )
    returned = held.sum(axis=0)
    safe = np.maximum(1.0, returned)
    lowest = np.where(holders, signals.margin[:, None], np.inf).min(axis=0, initial=np.inf)
    sources = np.column_stack(
        [
            logit(honest),
            np.maximum(signals.evidence.levels, 0),
            returned / max(1, n),
            np.where(np.isfinite(lowest), lowest, 0.0),
            held.T @ signals.margin / safe,
            held.T @ signals.tampering / safe,
        ]
    )
    index, attributes = _edges(signals, n)
    return Graph(
        np.clip(documents, -_CLIP, _CLIP).astype(np.float32),
        np.clip(sources, -_CLIP, _CLIP).astype(np.float32),
        index,
        attributes,
        np.clip(signals.fused_logit, -_CLIP, _CLIP).astype(np.float32),
    )


def _edges(signals: Signals, n: int) -> tuple[NDArray[np.int64], NDArray[np.float32]]:
    relations, holders = signals.relations, signals.evidence.holders
    cosine = relations.cosine
    weight = np.where(cosine > _NEAR, cosine * np.float32(0.5), np.float32(0.0))
    for i, j in ((relations.left, relations.right), (relations.right, relations.left)):
        weight[i, j] = np.maximum(weight[i, j], relations.agreed + relations.contested)
    crowded = np.flatnonzero((weight > 0).sum(axis=1) > _MOST_EDGES)
    if len(crowded):
        rows = weight[crowded]
        cut = np.partition(rows, n - 1 - _MOST_EDGES, axis=1)[:, n - 1 - _MOST_EDGES]
        weight[crowded] = np.where(rows > cut[:, None], rows, 0.0)
    # edges into each document come from its strongest relations
    target, source = np.divmod(np.flatnonzero(weight > 0), max(1, n))
    place = np.full((n, n), -1, dtype=np.int32)
    pair = np.arange(len(relations.left), dtype=np.int32)
    place[relations.left, relations.right] = place[relations.right, relations.left] = pair
    related = place[source, target]
    between = np.zeros((len(source), len(EDGE_FEATURES)), dtype=np.float32)
    told = related >= 0
    between[told, 0] = relations.agreed[related[told]]
    between[told, 1] = relations.contested[related[told]]
    between[:, 2] = cosine[source, target]
    between[:, 3] = (holders[source] & holders[target]).any(axis=1)
    document, holder = np.nonzero(holders)
    holds = np.zeros((2 * len(document), len(EDGE_FEATURES)), dtype=np.float32)
    holds[: len(document), 4] = 1.0
    holds[len(document) :, 5] = 1.0
    index = np.stack(
        [
            np.concatenate([source, holder + n, document]),
            np.concatenate([target, document, holder + n]),
        ]
    )
    return index, np.concatenate([between, holds])
