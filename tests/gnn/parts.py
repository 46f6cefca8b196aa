"""Models and rounds made by hand: relations judged by plain rules, no training, no model."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from core.embedding.cache import CachedEmbedder
from core.embedding.hashing import HashingEmbedder
from core.records import Candidate, DocumentKey
from gnn.checkpoint import Checkpoint
from gnn.content import FEATURES as CONTENT_FEATURES
from gnn.inference.evidence import RoundEvidence
from gnn.relations.documents import DocumentRelations
from gnn.relations.features import CONTEXT_FEATURES, FEATURES
from gnn.relations.pairs import SentencePairs
from gnn.relations.scorer import MLP
from gnn.round import VerificationRound, prepare_round
from gnn.scorer import SCHEMAS

EMBEDDER = CachedEmbedder(HashingEmbedder(512))
QUESTION = "Which metal is the bell of Arden Hall made of?"
TRUE = "The bell of Arden Hall is made of bronze and weighs 12 kg."
FALSE = "The bell of Arden Hall is made of bronze and weighs 19 kg."
OTHER = "Visitors reach the northern gardens by a narrow stone bridge."


def sentence_pairs(
    left: Sequence[str],
    right: Sequence[str],
    context: NDArray[np.float32] | None = None,
    place: Sequence[int] | None = None,
) -> SentencePairs:
    """Rows of two sentences, by default each of two documents of its own, on no known subject."""
    p = len(left)
    at = np.arange(p) if place is None else np.array(place)
    k = int(at.max(initial=-1)) + 1
    return SentencePairs(
        [*left, *right], np.arange(p), p + np.arange(p), np.arange(2 * k).reshape(k, 2), at,
        [frozenset()] * k,
        np.zeros((p, len(CONTEXT_FEATURES)), np.float32) if context is None else context,
    )  # fmt: skip


def linear(names: Sequence[str], columns: Sequence[Mapping[str, float]], bias: Sequence[float]) -> MLP:
    """A network without hidden layers: `columns[c][name]` weighs feature `name` in output `c`."""
    weights = np.zeros((len(names), len(columns)), np.float32)
    for c, column in enumerate(columns):
        for name, value in column.items():
            weights[names.index(name), c] = value
    zeros, ones = np.zeros(len(names), np.float32), np.ones(len(names), np.float32)
    return MLP(zeros, ones, (weights,), (np.array(bias, np.float32),))


def relation_network() -> MLP:
    """Agree where stems are shared and no fact differs, conflict where one does."""
    differs = {"unit_mismatch": 9.0, "year_mismatch": 9.0, "negation_parity": 9.0, "antonym": 18.0}
    agree = {"stem_containment": 8.0, **{name: -value for name, value in differs.items()}}
    return linear((*FEATURES, *CONTEXT_FEATURES), [{}, agree, differs], [0.0, -4.0, -4.0])


def content_network() -> MLP:
    """Sound unless the document repeats the question literally."""
    return linear(CONTENT_FEATURES, [{"question_run": -10.0}], [5.0])


def make_checkpoint(network: bool = False, **meta: Any) -> Checkpoint:
    """Hand-made channels; with `network` an untrained graph network on top of them."""
    arrays: dict[str, NDArray[Any]] = {
        **relation_network().to_arrays("relations"),
        **content_network().to_arrays("content"),
    }
    header: dict[str, Any] = {"schemas": SCHEMAS, "threshold": 0.0, **meta}
    if network:
        import torch

        from gnn.model import CredibilityNetwork, NetworkConfig
        from gnn.network import export

        with torch.random.fork_rng(devices=[]):
            torch.manual_seed(0)
            config = NetworkConfig(hidden=8, heads=2)
            arrays.update(export(CredibilityNetwork(config)))
        header["network"] = config.to_dict()
    return Checkpoint(arrays, header)


def paper_checkpoint() -> Checkpoint:
    """An untrained network of the paper beside the channels."""
    import torch

    from gnn.paper_model import PaperConfig, PaperNetwork
    from gnn.paper_training import export_paper

    base = make_checkpoint()
    config = PaperConfig(hidden=16, heads=2)
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(0)
        arrays = export_paper(PaperNetwork(config))
    categories = EMBEDDER.embed(["Buildings, towers and bells.", "Gardens, plants and rivers."])
    return Checkpoint(
        {**base.arrays, **arrays, "paper_categories": categories}, {**base.meta, "paper": config.to_dict()}
    )


def candidate(text: str, *sources: str) -> Candidate:
    """`text` as `sources` hold it."""
    name = f"d{abs(hash_of(text)) % 10**8}"
    keys = tuple(DocumentKey(source, name) for source in sources)
    return Candidate(keys[0], text, holders=keys)


def hash_of(text: str) -> int:
    import zlib

    return zlib.crc32(text.encode())


def a_round(
    held: Sequence[tuple[str, Sequence[str]]], question: str = QUESTION, sources: Sequence[str] | None = None
) -> VerificationRound:
    """A prepared round of (text, holders)."""
    return prepare_round(question, [candidate(t, *s) for t, s in held], EMBEDDER, sources=sources)


def dispute_round(liars: int = 2, honest: int = 3, question: str = QUESTION) -> VerificationRound:
    """Honest sources each tell the true text in their own words, liars the false one."""
    held = [(f"{TRUE} Record {chr(97 + i) * 4} says so.", [f"h{i}"]) for i in range(honest)]
    held += [(f"{FALSE} Paper {chr(110 + i) * 4} says so.", [f"l{i}"]) for i in range(liars)]
    return a_round(held, question)


def relations_of(
    n: int,
    agree: Sequence[tuple[int, int, float]] = (),
    conflict: Sequence[tuple[int, int, float]] = (),
) -> DocumentRelations:
    """Relations with the named entries."""
    told = np.zeros((2, n, n), np.float32)
    for kind, entries in enumerate((agree, conflict)):
        for i, j, value in entries:
            told[kind, min(i, j), max(i, j)] = value
    left, right = np.nonzero(told.sum(axis=0))
    return DocumentRelations(
        left, right, *told[:, left, right], np.ones(len(left), np.int64), np.zeros((n, n), np.float32)
    )


def evidence_of(
    holders: NDArray[np.bool_],
    dispute: NDArray[np.float32],
    weight: NDArray[np.float32],
    levels: NDArray[np.int8],
    present: NDArray[np.bool_],
    scale: float,
) -> RoundEvidence:
    """Evidence given as symmetric (n, n) matrices."""
    left, right = np.nonzero(np.triu(weight))
    return RoundEvidence(
        holders, left, right, dispute[left, right], weight[left, right], levels, present, scale
    )


def matrices(evidence: RoundEvidence) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Dispute and weight of `evidence` as symmetric (n, n) matrices."""
    n = len(evidence.holders)
    dispute, weight = np.zeros((n, n)), np.zeros((n, n))
    for i, j, x, w in zip(evidence.left, evidence.right, evidence.dispute, evidence.weight, strict=True):
        dispute[i, j] = dispute[j, i] = x
        weight[i, j] = weight[j, i] = w
    return dispute, weight


def random_evidence(rng: np.random.Generator, m: int, liars: Sequence[int] = (), n: int = 0) -> RoundEvidence:
    """Evidence over `n` documents (default one a source): documents of liars dispute those of the others."""
    n = n or m
    owner = np.arange(n) % m
    holders = np.zeros((n, m), bool)
    holders[np.arange(n), owner] = True
    lying = np.isin(owner, list(liars))
    differs = lying[:, None] != lying[None, :]
    dispute = np.where(differs, 0.9, 0.05) + rng.uniform(-0.05, 0.05, (n, n))
    dispute = np.clip(np.triu(dispute, 1) + np.triu(dispute, 1).T, 0, 1).astype(np.float32)
    weight = np.triu(rng.uniform(0, 1, (n, n)) * (rng.random((n, n)) < 0.7), 1)
    weight = (weight + weight.T).astype(np.float32)
    levels = rng.choice([-1, 0, 1, 2], m, p=[0.1, 0.8, 0.05, 0.05]).astype(np.int8)
    return evidence_of(holders, dispute, weight, levels, levels >= 0, 1.0)
