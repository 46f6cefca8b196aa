"""Sentence pairs from rounds over a world whose facts are known, for training the relation scorer.

Independent wordings of one fact share few words. The labels come from the facts themselves: two
sentences that tell a common fact agree if both or neither had its value altered, and conflict otherwise.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np

from core.embedding.base import Embedder
from core.seeding import derive_seed
from gnn.relations.documents import comparable, pair_sentences
from gnn.relations.scorer import AGREE, CONFLICT, NEUTRAL
from gnn.round import VerificationRound, document_sentences
from sim.corpora.records import FactWorld, Question
from sim.rounds import PreparedCorpus
from sim.training_pairs import UNKNOWN, LabelledPairs, facts_in
from sim.training_rounds import Episode, episode_rounds

_REPLICATION = 3
_Facts = dict[int, bool]  # number of a fact -> whether its value was altered


def world_pairs(
    prepared: PreparedCorpus, questions: Sequence[Question], embedder: Embedder, seed: int, n_rounds: int
) -> Iterator[LabelledPairs]:
    """Pairs of `n_rounds` rounds in which four of ten sources alter facts; none without a known world."""
    world = prepared.corpus.world
    if world is None or not questions or n_rounds < 1:
        return
    originals = prepared.corpus.texts()
    episode = Episode(
        0, "ata", malicious=0.4, replication=_REPLICATION, seed=derive_seed(seed, "world pairs")
    )
    for labelled in episode_rounds(episode, prepared, questions, embedder, n_rounds):
        yield _pairs(labelled.prepared, world, originals)


def _pairs(given: VerificationRound, world: FactWorld, originals: dict[str, str]) -> LabelledPairs:
    one, other = np.nonzero(np.triu(comparable(given.holders)))
    found = pair_sentences(given.sentences, given.sentence_vectors, given.cosine, one, other)
    told = []
    for candidate, sentences in zip(given.candidates, given.sentences, strict=True):
        doc_id = candidate.holders[0].doc_id
        told.append((world.group_of(doc_id), _facts(world.values(doc_id), originals[doc_id], sentences)))
    start = np.cumsum([0] + [len(sentences) for sentences in given.sentences])
    i, j = found.documents[found.place].T
    labels = np.array(
        [
            _label(told[a][0] == told[b][0], told[a][1][first], told[b][1][second])
            for a, b, first, second in zip(i, j, found.first - start[i], found.second - start[j], strict=True)
        ],
        dtype=np.int64,
    )
    whole = [(group, _merged(facts)) for group, facts in told]
    return LabelledPairs.of(
        found, labels, lambda i, j: _label(whole[i][0] == whole[j][0], whole[i][1], whole[j][1])
    )


def _facts(values: Sequence[tuple[str, ...]], original: str, sentences: Sequence[str]) -> list[_Facts | None]:
    """The facts that each sentence tells; None where nobody knows, since an edit moved the boundaries."""
    before = document_sentences(original)
    if len(before) != len(sentences):
        return [None] * len(sentences)
    found: list[_Facts | None] = []
    for old, new in zip(before, sentences, strict=True):
        kept = facts_in(new, values)
        found.append({fact: fact not in kept for fact in facts_in(old, values)})
    return found


def _merged(facts: Sequence[_Facts | None]) -> _Facts | None:
    """The facts of a whole document."""
    if any(one is None for one in facts):
        return None
    return {fact: altered for one in facts if one is not None for fact, altered in one.items()}


def _label(same_group: bool, one: _Facts | None, other: _Facts | None) -> int:
    if not same_group:
        return NEUTRAL
    if one is None or other is None:
        return UNKNOWN
    common = one.keys() & other.keys()
    if not common:
        return NEUTRAL
    return CONFLICT if any(one[fact] != other[fact] for fact in common) else AGREE
