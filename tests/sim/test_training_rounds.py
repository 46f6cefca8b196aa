from __future__ import annotations

from collections import Counter

import numpy as np
import pytest

from core.embedding.cache import CachedEmbedder
from core.embedding.hashing import HashingEmbedder
from core.records import Candidate, DocumentKey
from sim.attacks.base import AttackOptions
from sim.corpora import load_corpus
from sim.corpora.records import Question
from sim.rounds import PreparedCorpus, SimulatedRound, prepare
from sim.training_rounds import (
    BENIGN,
    MALICIOUS,
    UNLABELLED,
    Episode,
    LabelledRound,
    draw_episodes,
    episode_rounds,
    fused_labels,
    questions_of,
    split_of,
)
from tests.gnn.parts import a_round
from tests.sim.tiny_world import write_world

EMBEDDER = CachedEmbedder(HashingEmbedder(128))


@pytest.fixture(scope="module")
def world(tmp_path_factory: pytest.TempPathFactory) -> PreparedCorpus:
    return prepare(load_corpus(str(write_world(tmp_path_factory.mktemp("world"), n=90))), EMBEDDER)


def test_a_question_stands_in_one_split_whatever_its_case() -> None:
    questions = [Question(f"q{i}", f"What is the {i}th name?", ()) for i in range(2000)]
    shares = Counter(split_of(question) for question in questions)
    assert shares["train"] / 2000 == pytest.approx(0.6, abs=0.05)
    assert shares["validation"] / 2000 == pytest.approx(0.2, abs=0.04)
    assert split_of(Question("a", "WHO IS IT?", ())) == split_of(Question("b", "who is it?", ()))


def test_splits_are_disjoint_and_complete(world: PreparedCorpus) -> None:
    parts = [{q.query_id for q in questions_of(world, s)} for s in ("train", "validation", "test")]
    assert sum(map(len, parts)) == len(set().union(*parts)) == len(world.corpus.questions)


def test_episodes_are_drawn_from_the_seed_and_cover_attacks_and_controls() -> None:
    drawn = draw_episodes(2, 40, seed=5)
    assert drawn == draw_episodes(2, 40, seed=5) != draw_episodes(2, 40, seed=6)
    assert Counter(e.dataset for e in drawn) == {0: 40, 1: 40}
    assert {"none", "saa", "poisonedrag", "ata"} == {e.attack for e in drawn}
    assert {e.options.length for e in drawn} == {"as-is", "matched"}
    assert {True, False} == {e.options.swap for e in drawn} == {e.options.collude for e in drawn}
    assert {e.options.per_source for e in drawn} >= {None, 1}
    for episode in drawn:
        liars = int(episode.malicious * episode.n_sources + 1e-9)
        assert (liars == 0) == (episode.attack == "none")
        assert 2 * liars < episode.n_sources
        assert 1 <= episode.replication <= episode.n_sources


def play(world: PreparedCorpus, n: int = 3, **settings: object) -> list[LabelledRound]:
    episode = Episode(0, **{"n_sources": 5, "malicious": 0.4, "replication": 3, "seed": 2, **settings})
    return list(episode_rounds(episode, world, questions_of(world, "train"), EMBEDDER, n))


def test_a_clean_episode_has_only_benign_documents(world: PreparedCorpus) -> None:
    rounds = play(world, malicious=0.0)
    assert len(rounds) == 3
    for one in rounds:
        assert not one.attacked
        assert set(one.labels.tolist()) == {BENIGN}
        assert len(one.labels) == len(one.prepared.candidates)
        assert one.prepared.sources == tuple(f"source-{j:02d}" for j in range(5))


@pytest.mark.parametrize("attack", ["saa", "poisonedrag"])
def test_injected_texts_are_malicious(world: PreparedCorpus, attack: str) -> None:
    for one in play(world, attack=attack, options=AttackOptions(per_source=1)):
        assert one.injected
        assert one.attacked
        bad = [c for c, label in zip(one.prepared.candidates, one.labels, strict=True) if label == MALICIOUS]
        assert bad
        for candidate in bad:
            assert set(candidate.sources) <= one.simulated.malicious


def test_tampered_documents_are_malicious_and_their_originals_benign(world: PreparedCorpus) -> None:
    originals = set(world.corpus.texts().values())
    for one in play(world, attack="ata"):
        assert not one.injected
        for candidate, label in zip(one.prepared.candidates, one.labels, strict=True):
            if label == MALICIOUS:
                assert candidate.text not in originals
            elif label == BENIGN:
                assert candidate.text in originals


def test_under_swap_the_originals_are_malicious(world: PreparedCorpus) -> None:
    originals = set(world.corpus.texts().values())
    found = Counter(
        (int(label), candidate.text in originals)
        for one in play(world, attack="ata", options=AttackOptions(swap=True))
        for candidate, label in zip(one.prepared.candidates, one.labels, strict=True)
    )
    assert found[MALICIOUS, True] > 0
    assert found[MALICIOUS, False] == 0


def test_warm_up_rounds_come_first_and_are_clean(world: PreparedCorpus) -> None:
    rounds = play(world, n=2, attack="saa", warmup=2)
    assert [one.attacked for one in rounds] == [False, False, True, True]


def test_equal_episodes_give_equal_rounds(world: PreparedCorpus) -> None:
    one, two = play(world, attack="ata"), play(world, attack="ata")
    for a, b in zip(one, two, strict=True):
        assert a.prepared.texts == b.prepared.texts
        assert np.array_equal(a.labels, b.labels)


def test_one_label_for_a_text_whose_holders_differ() -> None:
    prepared = a_round([("One.", ["a", "b"]), ("Two.", ["a", "b"]), ("Three.", ["a", "b"]), ("Four.", ["b"])])
    labels = {}
    for candidate, given in zip(
        prepared.candidates,
        (("benign", "neutral"), ("benign", "malicious"), ("malicious", "neutral"), ("neutral",)),
        strict=True,
    ):
        assert isinstance(candidate, Candidate)
        labels.update(dict(zip(candidate.holders, given, strict=True)))
    simulated = SimulatedRound("r0", Question("q", "?", ()), (), labels, frozenset("b"), True)
    assert fused_labels(simulated, prepared).tolist() == [BENIGN, UNLABELLED, MALICIOUS, UNLABELLED]
    assert DocumentKey("a", "x") not in labels
