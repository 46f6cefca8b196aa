"""From aligned sentences to relations between documents: P(neutral), P(agree), P(conflict)."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Protocol, cast, runtime_checkable

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
_BITS = 21  # of a number in a key: three of them in one integer, which is looked up faster than a tuple


class LexicalRelationScorer:
    """The default: a small network over fact features, features cached by sentence pair.

    Args:
        network: maps (p, N_FEATURES) to 3 logits of a pair of sentences.
        documents: maps (k, len(combine.FEATURES)) to 3 logits of a pair of documents; None takes the
            strongest sentence pair.
        cache: sentence pairs remembered; when they are full, or sentences and names reach 2^21, all go.
    """

    def __init__(self, network: MLP, documents: MLP | None = None, cache: int = 500_000) -> None:
        if network.weights[0].shape[0] != N_FEATURES or network.weights[-1].shape[1] != 3:
            raise ValueError(f"relation network must map {N_FEATURES} features to 3 logits")
        self.network = network
        self.documents = documents
        self.identity = SCHEMA
        self.facts = FactCache()
        self._numbers: dict[str | frozenset[str], int] = {}  # of sentences, and of names
        self._known: dict[int, int] = {}  # key of a sentence pair -> its row of `_rows`
        self._rows = np.zeros((0, len(FEATURES)), dtype=np.float32)
        self._limit = cache

    def features(self, pairs: SentencePairs) -> NDArray[np.float32]:
        """(p, N_FEATURES) inputs of the network."""
        keys = self._keys(pairs)
        rows = list(map(self._known.get, keys))
        if None in rows:
            new = {key: i for i, (key, row) in enumerate(zip(keys, rows, strict=True)) if row is None}
            if len(self._known) + len(new) > self._limit:  # full: start anew with this call's pairs
                self._known.clear()
                self._numbers.clear()
                keys = self._keys(pairs)
                new = {key: i for i, key in enumerate(keys)}
            self._learn(pairs, new)
            rows = list(map(self._known.get, keys))
        return np.concatenate([self._rows[np.array(rows, dtype=np.int64)], pairs.context], axis=1)

    def _keys(self, pairs: SentencePairs) -> list[int]:
        """One number for each row's sentences and names."""
        if len(self._numbers) + len(pairs.sentences) + len(pairs.names) >= 1 << _BITS:
            self._known.clear()
            self._numbers.clear()
        number = self._numbers
        texts = np.array([number.setdefault(text, len(number)) for text in pairs.sentences], dtype=np.int64)
        names = np.array([number.setdefault(name, len(number)) for name in pairs.names], dtype=np.int64)
        key = (names[pairs.place] << 2 * _BITS) | (texts[pairs.first] << _BITS) | texts[pairs.second]
        return cast("list[int]", key.tolist())

    def _learn(self, pairs: SentencePairs, new: Mapping[int, int]) -> None:
        """Compute and remember the features of rows of `pairs`, by their keys."""
        rows = np.fromiter(new.values(), dtype=np.int64, count=len(new))
        used, at = np.unique(np.stack([pairs.first[rows], pairs.second[rows]]), return_inverse=True)
        facts = [self.facts.get(pairs.sentences[k]) for k in used.tolist()]
        left, right = at.reshape(2, -1).tolist()
        made = fact_features(facts, left, right, [pairs.names[k] for k in pairs.place[rows].tolist()])
        start, end = len(self._known), len(self._known) + len(new)
        if end > len(self._rows):
            grown = np.zeros((2 * end, len(FEATURES)), dtype=np.float32)
            grown[:start] = self._rows[:start]
            self._rows = grown
        self._rows[start:end] = made
        self._known.update(zip(new, range(start, end), strict=True))

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
