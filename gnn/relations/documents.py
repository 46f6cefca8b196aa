"""Relations between the documents of a round, from their aligned sentences."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from gnn.relations.align import align
from gnn.relations.pairs import SentencePairs
from gnn.relations.scorer import RelationScorer
from gnn.relations.subjects import document_subject, subject_features

WEAK = 0.2  # a relation weaker than this is noise
ALL_PAIRS = 100  # documents up to which every pair is compared
NEAREST = 9  # beyond that, about as many are: more only add conflicts between unrelated documents
SAME_SUBJECT = 0.5  # share of common names from which two documents are about the same thing
COSINE_FLOOR = 0.5  # sentences less alike are not compared
SAME_SUBJECT_FLOOR = 0.3  # two wordings of one fact with other values are no more alike than this


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

    @cached_property
    def strength(self) -> NDArray[np.float32]:
        """S = min(1, agree + conflict), 0 where two documents say nothing about each other."""
        return np.minimum(1.0, self.agree + self.conflict)

    @cached_property
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
    allowed = comparable(holders)
    if n > ALL_PAIRS:
        allowed &= nearest_of_each_source(cosine, holders, allowed)
    found = pair_sentences(sentences, sentence_vectors, cosine, allowed)
    if len(found):
        told = scorer.relate(found).T
        told = np.where(told < WEAK, np.float32(0.0), told)
        count = np.bincount(found.place)
        i, j = found.documents.T
        for a, b in ((i, j), (j, i)):
            agree[a, b], conflict[a, b], aligned[a, b] = *told, count
    return DocumentRelations(agree, conflict, cosine, aligned)


def comparable(holders: NDArray[np.bool_]) -> NDArray[np.bool_]:
    """(n, n) which documents may be compared: not two that one and the same source alone holds (n, m)."""
    alone = holders.sum(axis=1) == 1
    owner = holders.argmax(axis=1) if holders.size else alone.astype(np.int64)  # nobody holds nothing
    allowed = ~((owner[:, None] == owner[None, :]) & alone[:, None] & alone[None, :])
    np.fill_diagonal(allowed, False)
    return allowed


def pair_sentences(
    sentences: Sequence[Sequence[str]],
    vectors: NDArray[np.float32],
    cosine: NDArray[np.float32],
    allowed: NDArray[np.bool_],
) -> SentencePairs:
    """The sentences of n documents that may speak of the same fact.

    Args:
        sentences: of each document, in order. vectors: (s, d) unit vectors of all of them.
        cosine: (n, n) of the documents. allowed: (n, n) symmetric, which may be compared.

    Documents whose subjects have nothing in common are not compared: stock phrases ("further studies are
    needed") would else make them agree. Where two are about the same thing, sentences less alike count too.
    """
    document_of = np.repeat(np.arange(len(sentences)), [len(own) for own in sentences])
    subjects = [document_subject(tuple(own)) for own in sentences]
    one, other = np.nonzero(allowed)
    once = one < other
    one, other = one[once], other[once]
    about = subject_features(subjects, one, other)
    shared, mentioned, known = about.T
    possible = (known == 0) | (shared > 0) | (mentioned > 0)
    same = (known > 0) & (shared >= SAME_SUBJECT)
    limit = np.full(allowed.shape, np.inf, dtype=np.float32)
    limit[one[possible], other[possible]] = np.where(same, SAME_SUBJECT_FLOOR, COSINE_FLOOR)[possible]
    found = align(vectors, document_of, limit)
    i, j = document_of[found.left], document_of[found.right]
    n = len(sentences)
    code, place = np.unique(i * n + j, return_inverse=True)
    pairs = np.stack(np.divmod(code, max(1, n)), axis=1)
    of_pair = np.searchsorted(one * n + other, i * n + j)
    named = [subject.names for subject in subjects]
    return SentencePairs(
        [sentence for own in sentences for sentence in own],
        found.left,
        found.right,
        pairs,
        place,
        [named[a] | named[b] for a, b in zip(*pairs.T.tolist(), strict=True)],
        np.column_stack([found.cosine, found.mutual, cosine[i, j], about[of_pair]]).astype(np.float32),
    )


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
        if len(columns) > share == 1:  # the usual case, and much quicker
            near[rows[:, 0], columns[open_cosine[:, columns].argmax(axis=1)]] = True
        elif len(columns) > share:
            part = np.argpartition(-open_cosine[:, columns], share - 1, axis=1)[:, :share]
            near[rows, columns[part]] = True
        else:
            near[:, columns] = True
    return near | near.T
