"""From aligned sentences to relations between documents: P(neutral), P(agree), P(conflict)."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Protocol, runtime_checkable

import numpy as np
from numpy.typing import NDArray

from gnn.relations import combine
from gnn.relations.facts import SentenceFacts, sentence_facts
from gnn.relations.features import CONTEXT_FEATURES, FEATURES, N_FEATURES, fact_features
from gnn.relations.pairs import SentencePairs

SCHEMA = "relations/2/" + "+".join((*FEATURES, *CONTEXT_FEATURES)) + "/" + combine.SCHEMA
NEUTRAL, AGREE, CONFLICT = 0, 1, 2


@runtime_checkable
class RelationScorer(Protocol):
    """Judges pairs of documents by their aligned sentences; `identity` names it for checkpoints."""

    identity: str

    def relate(self, pairs: SentencePairs) -> NDArray[np.float32]:
        """(k, 2) how far the k pairs of documents agree and how far they conflict, in [0,1]."""
        ...


@dataclass(frozen=True)
class MLP:
    """A dense network in numpy: tanh hidden layers, softmax or linear output, inputs standardised."""

    mean: NDArray[np.float32]
    scale: NDArray[np.float32]
    weights: tuple[NDArray[np.float32], ...]
    biases: tuple[NDArray[np.float32], ...]

    def __call__(self, x: NDArray[np.float32]) -> NDArray[np.float32]:
        """(n, out) logits for (n, in) inputs.

        Added up in double precision and rounded once: a row's logits do not depend on its company.
        """
        h = x.astype(np.float64)
        for i, (w, b) in enumerate(self._folded):
            h = h @ w + b
            if i + 1 < len(self.weights):
                np.tanh(h, out=h)
        return h.astype(np.float32)

    @cached_property
    def _folded(self) -> list[tuple[NDArray[np.float64], NDArray[np.float64]]]:
        """Weights and biases with the standardisation in the first of them."""
        layers = [
            (w.astype(np.float64), b.astype(np.float64))
            for w, b in zip(self.weights, self.biases, strict=True)
        ]
        w, b = layers[0]
        w = w / self.scale.astype(np.float64)[:, None]
        return [(w, b - self.mean.astype(np.float64) @ w), *layers[1:]]

    def to_arrays(self, prefix: str) -> dict[str, NDArray[np.float32]]:
        """Named arrays for a checkpoint."""
        out = {f"{prefix}.mean": self.mean, f"{prefix}.scale": self.scale}
        for i, (w, b) in enumerate(zip(self.weights, self.biases, strict=True)):
            out[f"{prefix}.w{i}"], out[f"{prefix}.b{i}"] = w, b
        return out

    @classmethod
    def from_arrays(cls, arrays: Mapping[str, Any], prefix: str) -> MLP:
        """Inverse of `to_arrays`."""
        n = sum(1 for key in arrays if key.startswith(f"{prefix}.w"))
        return cls(
            np.asarray(arrays[f"{prefix}.mean"], np.float32),
            np.asarray(arrays[f"{prefix}.scale"], np.float32),
            tuple(np.asarray(arrays[f"{prefix}.w{i}"], np.float32) for i in range(n)),
            tuple(np.asarray(arrays[f"{prefix}.b{i}"], np.float32) for i in range(n)),
        )


def softmax(logits: NDArray[np.float32]) -> NDArray[np.float32]:
    """Row-wise softmax."""
    shifted = np.exp(logits - logits.max(axis=1, keepdims=True))
    return (shifted / shifted.sum(axis=1, keepdims=True)).astype(np.float32)


class FactCache:
    """Sentence facts by text, the oldest go first."""

    def __init__(self, limit: int = 200_000) -> None:
        self._facts: OrderedDict[str, SentenceFacts] = OrderedDict()
        self._limit = limit

    def get(self, text: str) -> SentenceFacts:
        facts = self._facts.get(text)
        if facts is None:
            facts = sentence_facts(text)
            self._facts[text] = facts
            if len(self._facts) > self._limit:
                self._facts.popitem(last=False)
        return facts


_SENTENCES, _DOCUMENTS = "relations", "document_relations"


class LexicalRelationScorer:
    """The default: a small network over fact features.

    Args:
        network: maps (p, N_FEATURES) to 3 logits of a pair of sentences.
        documents: maps (k, len(combine.FEATURES)) to 3 logits of a pair of documents; None takes the
            strongest sentence pair.
    """

    def __init__(self, network: MLP, documents: MLP | None = None) -> None:
        if network.weights[0].shape[0] != N_FEATURES or network.weights[-1].shape[1] != 3:
            raise ValueError(f"relation network must map {N_FEATURES} features to 3 logits")
        self.network = network
        self.documents = documents
        self.identity = SCHEMA
        self.facts = FactCache()

    def features(self, pairs: SentencePairs) -> NDArray[np.float32]:
        """(p, N_FEATURES) inputs of the network."""
        used, at = np.unique(np.concatenate([pairs.first, pairs.second]), return_inverse=True)
        facts = [self.facts.get(pairs.sentences[k]) for k in used.tolist()]
        left, right = at.reshape(2, -1).tolist()
        made = fact_features(facts, left, right, [pairs.names[k] for k in pairs.place.tolist()])
        return np.concatenate([made, pairs.context], axis=1)

    def score(self, pairs: SentencePairs) -> NDArray[np.float32]:
        """(p, 3) probabilities neutral, agree, conflict of each pair of sentences."""
        if not len(pairs):
            return np.zeros((0, 3), dtype=np.float32)
        return softmax(self.network(self.features(pairs)))

    def relate(self, pairs: SentencePairs) -> NDArray[np.float32]:
        """(k, 2) agreement and conflict of the pairs of documents."""
        p = self.score(pairs)
        if self.documents is None or not len(pairs):
            return combine.strongest(p[:, AGREE], p[:, CONFLICT], pairs)
        rows = combine.pair_features(p[:, AGREE], p[:, CONFLICT], pairs)
        return softmax(self.documents(rows))[:, [AGREE, CONFLICT]]

    def to_arrays(self) -> dict[str, NDArray[np.float32]]:
        """Named arrays for a checkpoint."""
        second = {} if self.documents is None else self.documents.to_arrays(_DOCUMENTS)
        return {**self.network.to_arrays(_SENTENCES), **second}

    @classmethod
    def from_arrays(cls, arrays: Mapping[str, Any]) -> LexicalRelationScorer:
        """Inverse of `to_arrays`."""
        second = MLP.from_arrays(arrays, _DOCUMENTS) if f"{_DOCUMENTS}.w0" in arrays else None
        return cls(MLP.from_arrays(arrays, _SENTENCES), second)
