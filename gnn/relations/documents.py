"""Relations between the documents of a round, from their aligned sentences."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from gnn.relations.align import Alignment, align
from gnn.relations.scorer import AGREE, CONFLICT, RelationScorer
from gnn.relations.subjects import subject_features

WEAK = 0.2  # a relation weaker than this is noise
ALL_PAIRS = 100  # documents up to which every pair is compared
NEAREST = 9  # beyond that, about as many are: more only add conflicts between unrelated documents


@dataclass(frozen=True)
class DocumentRelations:
    """Symmetric (n, n) matrices with zero diagonal.

    `agree` and `conflict` in [0,1] say how strongly two documents tell the same or contradicting
    facts in aligned sentences; `cosine` is their semantic similarity; `aligned` counts pairs.
    """

    agree: NDArray[np.float32]
    conflict: NDArray[np.float32]
    cosine: NDArray[np.float32]
    aligned: NDArray[np.int64]

    @property
    def strength(self) -> NDArray[np.float32]:
        """S = min(1, agree + conflict), 0 where two documents say nothing about each other."""
        return np.minimum(1.0, self.agree + self.conflict)

    @property
    def dispute(self) -> NDArray[np.float32]:
        """X = conflict / (agree + conflict) in [0,1]; 0 where there is no relation."""
        total = self.agree + self.conflict
        return np.divide(self.conflict, total, out=np.zeros_like(total), where=total > 0)

    def gated(self, trust: NDArray[np.float32]) -> DocumentRelations:
        """Relations scaled by `trust[i] * trust[j]`, so that poisons cannot corroborate each other."""
        gate = np.outer(trust, trust).astype(np.float32)
        return DocumentRelations(self.agree * gate, self.conflict * gate, self.cosine, self.aligned)


def relate(
    scorer: RelationScorer,
    sentences: list[list[str]],
    sentence_vectors: NDArray[np.float32],
    document_vectors: NDArray[np.float32],
    holders: NDArray[np.bool_],
) -> DocumentRelations:
    """Relations of n documents.

    Args:
        scorer: judges aligned sentence pairs.
        sentences: sentences of each document, in order.
        sentence_vectors: (s, d) unit vectors, all documents' sentences in order.
        document_vectors: (n, d) unit vectors.
        holders: (n, m) which source holds which document; documents of one single source are not
            compared with each other: a source cannot corroborate itself.

    Beyond `ALL_PAIRS` documents each is compared with about `NEAREST` others only.
    """
    n = len(sentences)
    cosine = (document_vectors @ document_vectors.T).astype(np.float32)
    np.fill_diagonal(cosine, 0.0)
    agree = np.zeros((n, n), dtype=np.float32)
    conflict = np.zeros((n, n), dtype=np.float32)
    aligned = np.zeros((n, n), dtype=np.int64)
    counts = [len(s) for s in sentences]
    document_of = np.repeat(np.arange(n), counts)
    alone = holders.sum(axis=1) == 1
    owner = holders.argmax(axis=1)
    allowed = ~((owner[:, None] == owner[None, :]) & alone[:, None] & alone[None, :])
    np.fill_diagonal(allowed, False)
    if n > ALL_PAIRS:
        allowed &= nearest_of_each_source(cosine, holders, allowed)
    found = align(sentence_vectors, document_of, allowed)
    if len(found.left):
        flat = [sentence for document in sentences for sentence in document]
        i, j = document_of[found.left], document_of[found.right]
        context = pair_context(found, i, j, cosine, sentences)
        keep = related(context)
        i, j, context = i[keep], j[keep], context[keep]
        left, right = ([flat[k] for k in side[keep].tolist()] for side in (found.left, found.right))
        p = scorer.score(left, right, context)
        pair, place, count = np.unique(i * n + j, return_inverse=True, return_counts=True)
        most = np.zeros((2, len(pair)), dtype=np.float32)  # of each pair of documents: agreement, conflict
        np.maximum.at(most[0], place, p[:, AGREE])
        np.maximum.at(most[1], place, p[:, CONFLICT])
        most[0] *= 1.0 - most[1]
        most[most < WEAK] = 0.0
        for a, b in ((pair // n, pair % n), (pair % n, pair // n)):
            agree[a, b], conflict[a, b], aligned[a, b] = *most, count
    return DocumentRelations(agree, conflict, cosine, aligned)


def pair_context(
    found: Alignment,
    i: NDArray[np.int64],
    j: NDArray[np.int64],
    cosine: NDArray[np.float32],
    sentences: Sequence[Sequence[str]],
) -> NDArray[np.float32]:
    """(p, len(CONTEXT_FEATURES)) of aligned sentences of documents `i` and `j` (p,), `cosine` (n, n)."""
    about = subject_features(sentences, i, j)
    return np.column_stack([found.cosine, found.mutual, cosine[i, j], about]).astype(np.float32)


def related(context: NDArray[np.float32]) -> NDArray[np.bool_]:
    """(p,) whether two documents may speak of the same thing: not if their subjects have nothing in common.

    Stock phrases ("further studies are needed") would else make unrelated documents agree.
    """
    shared, mentioned, known = context[:, -3:].T
    return (known == 0) | (shared > 0) | (mentioned > 0)


def nearest_of_each_source(
    cosine: NDArray[np.float32], holders: NDArray[np.bool_], allowed: NDArray[np.bool_]
) -> NDArray[np.bool_]:
    """(n, n) symmetric: which documents are among the nearest ones that some source holds.

    Every source has the same share of the `NEAREST`, so that none can crowd out what the others say.
    """
    n, m = holders.shape
    share = max(1, round(NEAREST / max(1, m - 1)))
    near = np.zeros((n, n), dtype=bool)
    open_cosine = np.where(allowed, cosine, -np.inf)
    rows = np.arange(n)[:, None]
    for held in holders.T:
        columns = np.flatnonzero(held)
        if len(columns) > share:
            part = np.argpartition(-open_cosine[:, columns], share - 1, axis=1)[:, :share]
            near[rows, columns[part]] = True
        else:
            near[:, columns] = True
    return near | near.T
