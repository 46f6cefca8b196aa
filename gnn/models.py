"""Every model that scores a round, by name, behind one face: the default, the paper's and the baselines."""

from __future__ import annotations

import io
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from core.errors import CheckpointError, ConfigError
from gnn.baselines import truth_discovery as td
from gnn.baselines.dawid_skene import dawid_skene
from gnn.baselines.trees import BoostedTrees
from gnn.beliefs_io import from_bytes, to_bytes
from gnn.checkpoint import Checkpoint
from gnn.graph import build_graph
from gnn.relations.scorer import MLP
from gnn.round import VerificationRound
from gnn.scorer import CredibilityScorer, Scored
from gnn.signals import sigmoid

MODELS = (
    "default",
    "channels", "paper", "agreement", "truth-discovery", "dawid-skene", "logistic", "boosted-trees",
)  # fmt: skip


class Model(Protocol):
    """Scores rounds; `state` is what it carries between them, None before the first."""

    def score(self, given: VerificationRound, state: Any = None) -> Scored: ...

    def dump(self, state: Any) -> bytes: ...

    def load(self, data: bytes) -> Any: ...


def open_model(name: str, checkpoint: Checkpoint, threshold: float | None = None) -> Model:
    """The model called `name` with the parts of `checkpoint`.

    Raises:
        ConfigError: unknown name.
        CheckpointError: the checkpoint carries no such model.
    """
    if name == "default":
        return ChannelModel(CredibilityScorer(checkpoint, threshold=threshold))
    if name == "channels":
        return ChannelModel(CredibilityScorer(checkpoint, threshold=threshold, network=False))
    if name == "agreement":
        return ChannelModel(CredibilityScorer(checkpoint, network=False, content=False))
    if name in ("truth-discovery", "dawid-skene"):
        return TrustModel(CredibilityScorer(checkpoint, network=False, content=False), name)
    if name in ("logistic", "boosted-trees"):
        if f"{name}.start" not in checkpoint.arrays and f"{name}.mean" not in checkpoint.arrays:
            raise CheckpointError(f"this checkpoint carries no {name!r} model; train with --baselines")
        return RowModel(CredibilityScorer(checkpoint, threshold=threshold, network=False), checkpoint, name)
    if name == "paper":
        from gnn.paper import PaperModel

        return PaperModel(checkpoint)
    raise ConfigError(f"unknown model {name!r}; known: {', '.join(MODELS)}")


@dataclass
class ChannelModel:
    """A `CredibilityScorer` behind the common face."""

    scorer: CredibilityScorer

    def score(self, given: VerificationRound, state: Any = None) -> Scored:
        return self.scorer.score(given, state)

    def dump(self, state: Any) -> bytes:
        return to_bytes(state)

    def load(self, data: bytes) -> Any:
        return from_bytes(data)


@dataclass
class RowModel(ChannelModel):
    """A classifier of single documents on the graph's node features: what the graph is compared with."""

    checkpoint: Checkpoint
    name: str

    def __post_init__(self) -> None:
        arrays = self.checkpoint.arrays
        if self.name == "logistic":
            network = MLP.from_arrays(arrays, "logistic")
            self._logits: Any = lambda x: network(x)[:, 0].astype(np.float64)
        else:
            self._logits = BoostedTrees.from_arrays(arrays, "boosted-trees")

    def score(self, given: VerificationRound, state: Any = None) -> Scored:
        given, prior = self.scorer.aligned(given, state)
        signals = self.scorer.channels.run(given, prior, self.scorer.threshold)
        scored = self.scorer.scored(given, signals)
        rows = document_rows(build_graph(signals).documents, signals.fused_logit)
        return replace(scored, credibility=sigmoid(self._logits(rows)))


def document_rows(documents: NDArray[np.float32], base: NDArray[np.floating]) -> NDArray[np.float32]:
    """Inputs of the row models: node features and the fused logit."""
    return np.column_stack([documents, np.clip(base, -8, 8)]).astype(np.float32)


@dataclass
class TrustModel:
    """Truth discovery or Dawid-Skene on the lexical relations."""

    scorer: CredibilityScorer
    name: str

    def score(self, given: VerificationRound, state: Any = None) -> Scored:
        names = given.sources if state is None else tuple(sorted({*state.sources, *given.sources}))
        state = td.start(names) if state is None else _widen(state, names)
        holders = np.zeros((len(given.candidates), len(names)), dtype=bool)
        holders[:, [names.index(source) for source in given.sources]] = given.holders
        relations = self.scorer.channels.relate(replace(given, sources=names, holders=holders))
        method = td.truth_discovery if self.name == "truth-discovery" else dawid_skene
        belief, after = method(relations, holders, state)
        evidence: tuple[Mapping[str, float], ...] = tuple({"belief": round(float(b), 4)} for b in belief)
        reliability = dict(zip(names, map(float, after.trust), strict=True))
        return Scored(belief, reliability, after, evidence, np.zeros(len(belief)))

    def dump(self, state: Any) -> bytes:
        buffer = io.BytesIO()
        np.savez(buffer, sources=np.array(state.sources), trust=state.trust, rounds=state.rounds)
        return buffer.getvalue()

    def load(self, data: bytes) -> Any:
        with np.load(io.BytesIO(data), allow_pickle=False) as arrays:
            return td.SourceTrust(tuple(map(str, arrays["sources"])), arrays["trust"], arrays["rounds"])


def _widen(state: td.SourceTrust, names: tuple[str, ...]) -> td.SourceTrust:
    """`state` over `names`; new sources start at the prior."""
    if state.sources == names:
        return state
    fresh = td.start(names)
    for j, name in enumerate(names):
        if name in state.sources:
            k = state.sources.index(name)
            fresh.trust[j], fresh.rounds[j] = state.trust[k], state.rounds[k]
    return fresh
