from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from core.embedding.cache import CachedEmbedder
from core.embedding.hashing import HashingEmbedder
from gnn.relations.scorer import AGREE, CONFLICT, NEUTRAL
from gnn.round import document_sentences
from sim.corpora.synthetic import build_world
from sim.rounds import PreparedCorpus, prepare
from sim.training_pairs import UNKNOWN, LabelledPairs
from sim.training_rounds import questions_of
from sim.world_pairs import world_pairs

EMBEDDER = CachedEmbedder(HashingEmbedder(128))


def made(prepared: PreparedCorpus, n: int = 6, seed: int = 0) -> list[LabelledPairs]:
    return list(world_pairs(prepared, questions_of(prepared, "train"), EMBEDDER, seed, n))


@pytest.fixture(scope="module")
def world() -> PreparedCorpus:
    return prepare(build_world(90, seed=1), EMBEDDER)


def test_all_relations_occur_among_sentences_and_documents(world: PreparedCorpus) -> None:
    found = made(world)
    for labels in ([p.label for p in found], [p.documents for p in found]):
        assert {NEUTRAL, AGREE, CONFLICT} <= set(np.concatenate(labels).tolist())
    for p in found:
        assert len(p.pairs) == len(p.pairs.context) == len(p.label) == len(p.pairs.place)
        assert UNKNOWN not in p.label
        assert sorted(set(p.pairs.place.tolist())) == list(range(len(p.documents)))
        assert len(p.pairs.names) == len(p.pairs.documents) == len(p.documents)


def test_documents_are_at_least_in_the_conflict_that_their_sentences_are_in(world: PreparedCorpus) -> None:
    for p in made(world):
        for place in set(p.pairs.place[p.label == CONFLICT].tolist()):
            assert p.documents[place] in (CONFLICT, UNKNOWN)
        for place in set(p.pairs.place[p.label == AGREE].tolist()):
            assert p.documents[place] != NEUTRAL


def test_tellings_without_an_alteration_never_conflict(world: PreparedCorpus) -> None:
    told = {sentence for d in world.corpus.documents for sentence in document_sentences(d.text)}
    for p in made(world):
        for (a, b), label in zip(p.pairs.texts(), p.label, strict=True):
            if a in told and b in told:
                assert label != CONFLICT


def test_equal_seeds_give_equal_pairs_and_without_a_world_there_are_none(world: PreparedCorpus) -> None:
    one, two, other = made(world, 2), made(world, 2), made(world, 2, seed=1)
    assert (
        [p.pairs.texts() for p in one] == [p.pairs.texts() for p in two] != [p.pairs.texts() for p in other]
    )
    assert [p.label.tolist() for p in one] == [p.label.tolist() for p in two]
    assert made(world, 0) == []
    assert made(replace(world, corpus=replace(world.corpus, world=None))) == []
