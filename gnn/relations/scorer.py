"""From aligned sentences to relations between documents: P(neutral), P(agree), P(conflict)."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol, runtime_checkable

import numpy as np
from numpy.typing import NDArray

from gnn.relations import combine
from gnn.relations.facts import SentenceFacts, sentence_facts
from gnn.relations.features import CONTEXT_FEATURES, FEATURES, N_FEATURES, fact_features

SCHEMA = "relations/2/" + "+".join((*FEATURES, *CONTEXT_FEATURES)) + "/" + combine.SCHEMA
NEUTRAL, AGREE, CONFLICT = 0, 1, 2


@runtime_checkable
class RelationScorer(Protocol):
    """Judges aligned sentence pairs; `identity` names it for caches and checkpoints."""

    identity: str

    def score(
        self,
        left: Sequence[str],
        right: Sequence[str],
        names: Sequence[frozenset[str]],
        context: NDArray[np.float32],
    ) -> NDArray[np.float32]:
        """(p, 3) probabilities neutral, agree, conflict.

        `names` are stems of what the two documents are about, which says nothing about a single fact;
        `context` is (p, len(CONTEXT_FEATURES)): sentence cosine, mutual best match (0/1), cosine of the
        documents, and how far their subjects are the same (`gnn.relations.subjects`).
        """
        ...

    def combine(
        self,
        agree: NDArray[np.float32],
        conflict: NDArray[np.float32],
        place: NDArray[np.int64],
        context: NDArray[np.float32],
        k: int,
    ) -> NDArray[np.float32]:
        """(k, 2) agreement and conflict in [0,1] of k pairs of documents, from their p sentence pairs.

        `place` (p,) says which pair of documents each belongs to, `gnn.relations.combine` how.
        """
        ...


@dataclass(frozen=True)
class MLP:
    """A dense network in numpy: tanh hidden layers, softmax or linear output, inputs standardised."""

    mean: NDArray[np.float32]
    scale: NDArray[np.float32]
    weights: tuple[NDArray[np.float32], ...]
    biases: tuple[NDArray[np.float32], ...]

    def __call__(self, x: NDArray[np.float32]) -> NDArray[np.float32]:
        """(n, out) logits for (n, in) inputs."""
        h = ((x - self.mean) / self.scale).astype(np.float32)
        for i, (w, b) in enumerate(zip(self.weights, self.biases, strict=True)):
            h = h @ w + b
            if i + 1 < len(self.weights):
                h = np.tanh(h)
        return h

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
_Pair = tuple[str, str, frozenset[str]]


class LexicalRelationScorer:
    """The default: a small network over fact features, features cached by sentence pair.

    Args:
        network: maps (p, N_FEATURES) to 3 logits.
        documents: maps (k, len(combine.FEATURES)) to 3 logits of a pair of documents; None takes the
            strongest sentence pair.
    """

    def __init__(self, network: MLP, documents: MLP | None = None, cache: int = 500_000) -> None:
        if network.weights[0].shape[0] != N_FEATURES or network.weights[-1].shape[1] != 3:
            raise ValueError(f"relation network must map {N_FEATURES} features to 3 logits")
        self.network = network
        self.documents = documents
        self.identity = SCHEMA
        self.facts = FactCache()
        self._known: dict[_Pair, int] = {}  # sentence pair -> its row of `_rows`
        self._rows = np.zeros((0, len(FEATURES)), dtype=np.float32)
        self._limit = cache

    def features(
        self,
        left: Sequence[str],
        right: Sequence[str],
        names: Sequence[frozenset[str]],
        context: NDArray[np.float32],
    ) -> NDArray[np.float32]:
        """(p, N_FEATURES) inputs of the network."""
        if not left:
            return np.zeros((0, N_FEATURES), dtype=np.float32)
        pairs = list(zip(left, right, names, strict=True))
        rows = list(map(self._known.get, pairs))
        if None in rows:
            new = dict.fromkeys(p for p, row in zip(pairs, rows, strict=True) if row is None)
            if len(self._known) + len(new) > self._limit:  # full: start anew with this call's pairs
                self._known.clear()
                new = dict.fromkeys(pairs)
            self._learn(list(new))
            rows = list(map(self._known.get, pairs))
        return np.concatenate([self._rows[np.array(rows)], context.astype(np.float32)], axis=1)

    def _learn(self, pairs: list[_Pair]) -> None:
        """Compute and remember the features of new, distinct `pairs`."""
        texts = dict.fromkeys(text for a, b, _ in pairs for text in (a, b))
        place = {text: i for i, text in enumerate(texts)}
        facts = [self.facts.get(text) for text in texts]
        made = fact_features(
            facts,
            [place[a] for a, _, _ in pairs],
            [place[b] for _, b, _ in pairs],
            [names for _, _, names in pairs],
        )
        start, end = len(self._known), len(self._known) + len(pairs)
        if end > len(self._rows):
            grown = np.zeros((2 * end, len(FEATURES)), dtype=np.float32)
            grown[:start] = self._rows[:start]
            self._rows = grown
        self._rows[start:end] = made
        self._known.update(zip(pairs, range(start, end), strict=True))

    def score(
        self,
        left: Sequence[str],
        right: Sequence[str],
        names: Sequence[frozenset[str]],
        context: NDArray[np.float32],
    ) -> NDArray[np.float32]:
        """(p, 3) probabilities neutral, agree, conflict."""
        if not left:
            return np.zeros((0, 3), dtype=np.float32)
        return softmax(self.network(self.features(left, right, names, context)))

    def combine(
        self,
        agree: NDArray[np.float32],
        conflict: NDArray[np.float32],
        place: NDArray[np.int64],
        context: NDArray[np.float32],
        k: int,
    ) -> NDArray[np.float32]:
        """(k, 2) agreement and conflict of pairs of documents."""
        if self.documents is None:
            return combine.strongest(agree, conflict, place, k)
        rows = combine.pair_features(agree, conflict, place, context, k)
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
