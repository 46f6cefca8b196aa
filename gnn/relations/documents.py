"""Relations between the documents of a round, from their aligned sentences."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

from gnn.relations.align import align
from gnn.relations.memo import Found, RelationMemo
from gnn.relations.pairs import SentencePairs
from gnn.relations.scorer import RelationScorer
from gnn.relations.subjects import document_subject, subject_features
from gnn.round import VerificationRound

WEAK = 0.2  # a relation weaker than this is noise
ALL_PAIRS = 100  # documents up to which every pair is compared
NEAREST = 9  # beyond that, about as many are: more only add conflicts between unrelated documents
SAME_SUBJECT = 0.5  # share of common names from which two documents are about the same thing
COSINE_FLOOR = 0.5  # sentences less alike are not compared
SAME_SUBJECT_FLOOR = 0.3  # two wordings of one fact with other values are no more alike than this
T = TypeVar("T", bound=np.generic)


@dataclass(frozen=True)
class DocumentRelations:
    """What k pairs of n documents say about each other; other pairs say nothing.

    `left`, `right` (k,) are the pairs, left < right; `agreed` and `contested` (k,) in [0,1] say how strongly
    they tell the same or contradicting facts in aligned sentences; `counted` (k,) aligned sentence pairs.
    `cosine` (n, n) is the semantic similarity of all documents, its diagonal zero. `agree`, `conflict` and
    `aligned` are the same as symmetric (n, n) matrices.
    """

    left: NDArray[np.int64]
    right: NDArray[np.int64]
    agreed: NDArray[np.float32]
    contested: NDArray[np.float32]
    counted: NDArray[np.int64]
    cosine: NDArray[np.float32]

    @cached_property
    def strength(self) -> NDArray[np.float32]:
        """(k,) s = min(1, agree + conflict)."""
        return np.minimum(1.0, self.agreed + self.contested)

    @cached_property
    def dispute(self) -> NDArray[np.float32]:
        """(k,) x = conflict / (agree + conflict) in [0,1]; 0 where there is no relation."""
        total = self.agreed + self.contested
        return np.divide(self.contested, total, out=np.zeros_like(total), where=total > 0)

    @cached_property
    def agree(self) -> NDArray[np.float32]:
        return self.matrix(self.agreed)

    @cached_property
    def conflict(self) -> NDArray[np.float32]:
        return self.matrix(self.contested)

    @cached_property
    def aligned(self) -> NDArray[np.int64]:
        return self.matrix(self.counted)

    def matrix(self, values: NDArray[T]) -> NDArray[T]:
        """Symmetric (n, n) matrix of `values` (k,) of the pairs."""
        out = np.zeros(self.cosine.shape, dtype=values.dtype)
        out[self.left, self.right] = out[self.right, self.left] = values
        return out

    def degree(self, values: NDArray[np.float32]) -> NDArray[np.float64]:
        """(n,) sums of `values` (k,) over the pairs of each document."""
        n = len(self.cosine)
        return np.asarray(np.bincount(self.left, values, n) + np.bincount(self.right, values, n), np.float64)

    def gated(self, trust: NDArray[np.float32]) -> DocumentRelations:
        """Relations scaled by `trust[i] * trust[j]`, so that poisons cannot corroborate each other."""
        gate = trust[self.left] * trust[self.right]
        return replace(self, agreed=self.agreed * gate, contested=self.contested * gate)


def relate(
    scorer: RelationScorer, given: VerificationRound, memo: RelationMemo | None = None
) -> DocumentRelations:
    """Relations of the documents of a round, as `scorer` judges their aligned sentences.

    Documents that one and the same source alone holds are not compared: a source cannot corroborate itself.
    Beyond `ALL_PAIRS` documents each is compared with about `NEAREST` others only. Pairs that `memo` knows
    are not compared again.
    """
    n, cosine = len(given.sentences), given.cosine
    allowed = comparable(given.holders)
    if n > ALL_PAIRS:
        allowed &= nearest_of_each_source(cosine, given.holders, allowed)
    one, other = np.divmod(np.flatnonzero(allowed), max(1, n))  # np.nonzero takes ten times as long
    once = np.flatnonzero(one < other)
    one, other = one[once], other[once]
    memo = RelationMemo() if memo is None else memo
    keys, told, new = memo.recall(given.texts, given.vectors, one, other)
    if len(new):
        found = compare(scorer, given, one[new], other[new])
        memo.learn([keys[k] for k in new.tolist()], found)
        told.put(new, found)
    some = np.flatnonzero(told.aligned)
    related = told.at(some)
    return DocumentRelations(one[some], other[some], related.agree, related.conflict, related.aligned, cosine)


def compare(
    scorer: RelationScorer,
    given: VerificationRound,
    one: NDArray[np.int64],
    other: NDArray[np.int64],
) -> Found:
    """Relations of the pairs `one[k]` < `other[k]` of a round's documents; below `WEAK` none is left."""
    found = Found.none(len(one))
    pairs = pair_sentences(given.sentences, given.sentence_vectors, given.cosine, one, other)
    if len(pairs):
        n = len(given.sentences)
        told = scorer.relate(pairs)
        agree, conflict = np.where(told < WEAK, np.float32(0.0), told).T
        i, j = pairs.documents.T
        at = np.asarray(np.searchsorted(one * n + other, i * n + j))
        found.put(at, Found(agree, conflict, np.bincount(pairs.place)))
    return found


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
    one: NDArray[np.int64],
    other: NDArray[np.int64],
) -> SentencePairs:
    """The sentences of n documents that may speak of the same fact.

    Args:
        sentences: of each document, in order. vectors: (s, d) unit vectors of all of them.
        cosine: (n, n) of the documents.
        one, other: (p,) the pairs of documents to compare, one < other, in ascending order.

    Documents whose subjects have nothing in common are not compared: stock phrases ("further studies are
    needed") would else make them agree. Where two are about the same thing, sentences less alike count too.
    """
    n = len(sentences)
    document_of = np.repeat(np.arange(n), [len(own) for own in sentences])
    subjects = [document_subject(tuple(own)) for own in sentences]
    about = subject_features(subjects, one, other)
    shared, mentioned, known = about.T
    possible = (known == 0) | (shared > 0) | (mentioned > 0)
    same = (known > 0) & (shared >= SAME_SUBJECT)
    limit = np.full((n, n), np.inf, dtype=np.float32)
    limit[one[possible], other[possible]] = np.where(same, SAME_SUBJECT_FLOOR, COSINE_FLOOR)[possible]
    found = align(vectors, document_of, limit)
    i, j = document_of[found.left], document_of[found.right]
    code, place = np.unique(i * n + j, return_inverse=True)
    pairs = np.stack(np.divmod(code, max(1, n)), axis=1)
    of_pair = np.asarray(np.searchsorted(one * n + other, code))[place]
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
            near[rows[:, 0], columns[open_cosine.take(columns, axis=1).argmax(axis=1)]] = True
        elif len(columns) > share:
            part = np.argpartition(-open_cosine[:, columns], share - 1, axis=1)[:, :share]
            near[rows, columns[part]] = True
        else:
            near[:, columns] = True
    return near | near.T
