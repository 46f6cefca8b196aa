from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from core.embedding.cache import CachedEmbedder
from core.embedding.hashing import HashingEmbedder
from gnn.relations.scorer import AGREE, CONFLICT, NEUTRAL
from sim.corpora import load_corpus
from sim.corpora.synthetic import build_world
from sim.rounds import PreparedCorpus, prepare
from sim.training_pairs import LabelledPairs, labelled_pairs
from tests.sim.tiny_world import write_world

EMBEDDER = CachedEmbedder(HashingEmbedder(128))


def made(prepared: PreparedCorpus, n: int = 12, seed: int = 0) -> list[LabelledPairs]:
    return list(labelled_pairs(prepared, [q.text for q in prepared.corpus.questions[:n]], EMBEDDER, seed))


@pytest.fixture(scope="module")
def world(tmp_path_factory: pytest.TempPathFactory) -> PreparedCorpus:
    folder: Path = tmp_path_factory.mktemp("world")
    return prepare(load_corpus(str(write_world(folder, n=60))), EMBEDDER)


def test_pairs_of_copies_have_all_three_relations(world: PreparedCorpus) -> None:
    pairs = made(world)
    labels = np.concatenate([p.label for p in pairs])
    assert set(labels.tolist()) == {NEUTRAL, AGREE, CONFLICT}
    for p in pairs:
        assert len(p.pairs) == len(p.pairs.context) == len(p.label)
        assert np.isfinite(p.pairs.context).all()


def test_equal_sentences_of_one_document_never_conflict(world: PreparedCorpus) -> None:
    for p in made(world):
        for (a, b), label in zip(p.pairs.texts(), p.label, strict=True):
            if a == b:
                assert label != CONFLICT


def test_independent_wordings_are_paired_too() -> None:
    prepared = prepare(build_world(90, seed=1), EMBEDDER)
    labels = np.concatenate([p.label for p in made(prepared)])
    assert {AGREE, CONFLICT} <= set(labels.tolist())


def test_equal_seeds_give_equal_pairs(world: PreparedCorpus) -> None:
    one, two, other = made(world, 4), made(world, 4), made(world, 4, seed=1)
    assert (
        [p.pairs.texts() for p in one] == [p.pairs.texts() for p in two] != [p.pairs.texts() for p in other]
    )
