from __future__ import annotations

import numpy as np
import pytest

from core.embedding.hashing import HashingEmbedder
from core.errors import ConfigError, DataError
from core.records import Query
from sim.attacks.base import AttackOptions
from sim.corpora import load_corpus, select_questions
from sim.rounds import (
    PreparedCorpus,
    RoundFactory,
    SimulatedRound,
    place_malicious,
    prepare,
    share_warning,
    source_names,
)
from source_node.node import SourceNode
from tests.sim.small_corpus import small_corpus

EMBEDDER = HashingEmbedder()
CORPUS = small_corpus()
PREPARED = prepare(CORPUS, EMBEDDER)


def play(n: int = 6, warmup: int = 0, **settings: object) -> list[SimulatedRound]:
    factory = RoundFactory(PREPARED, EMBEDDER, n_sources=5, **settings)
    return list(factory.rounds(CORPUS.questions[:n], warmup))


def test_rounds_are_labelled_and_complete() -> None:
    for found in play(attack="poisonedrag"):
        assert [reply.source_id for reply in found.replies] == source_names(5)
        assert {d.key for reply in found.replies for d in reply.documents} == set(found.labels)
        assert len(found.malicious) == 2
        assert found.attacked
        assert found.target_answer == "Zed Quill"
        assert found.relevant == CORPUS.qrels[found.question.query_id]
        labels = {reply.source_id: {found.labels[d.key] for d in reply.documents} for reply in found.replies}
        assert all(("malicious" in kinds) == (name in found.malicious) for name, kinds in labels.items())


def test_the_target_is_the_attacks_else_the_poison_records_else_none() -> None:
    assert [r.target_answer for r in play(12, attack="none")][8:] == ["Zed Quill"] * 2 + [None] * 2
    assert play(12, attack="ata")[11].target_answer is None
    assert play(12, attack="saa")[11].target_answer not in (None, *CORPUS.questions[11].answers)


def test_warm_up_rounds_are_clean() -> None:
    assert [r.attacked for r in play(5, 2, attack="ata")] == [False, False, True, True, True]
    assert [r.attacked for r in play(5, 1, attack="ata", behavior="sleeper:2")] == [False] * 3 + [True] * 2


def test_a_whitewasher_is_named_as_it_appears() -> None:
    rounds = play(4, attack="saa", behavior="whitewashing:2")
    for found in rounds:
        assert found.malicious < {reply.source_id for reply in found.replies}
    assert not rounds[0].malicious & rounds[3].malicious


def test_equal_seeds_give_equal_rounds_and_other_seeds_do_not() -> None:
    for attack, options in (
        ("poisonedrag", AttackOptions(length="matched", prefix=False, collude=False)),
        ("ata", AttackOptions(reword=True)),
    ):
        first, again = (play(attack=attack, options=options, seed=3, replication=2) for _ in range(2))
        assert first == again
        assert first != play(attack=attack, options=options, seed=4, replication=2)


def test_later_calls_draw_afresh_where_draws_belong_to_a_round() -> None:
    factory = RoundFactory(
        PREPARED, EMBEDDER, 5, attack="poisonedrag", options=AttackOptions(collude=False, per_source=1)
    )
    asked = CORPUS.questions[:1] * 12
    dealt = [
        tuple(
            (d.key.source_id, d.text)
            for reply in r.replies
            for d in reply.documents
            if r.labels[d.key] == "malicious"
        )
        for r in factory.rounds(asked)
    ]
    assert len(set(dealt)) > 1
    assert next(factory.rounds(asked, offset=100)).request_id == "r000100"


@pytest.mark.parametrize("replication", [1, 3])
def test_the_search_is_that_of_a_source_node(replication: int) -> None:
    factory = RoundFactory(PREPARED, EMBEDDER, n_sources=4, replication=replication, seed=replication)
    nodes = [
        SourceNode(name, [CORPUS.documents[i] for i in held], PREPARED.vectors[held], EMBEDDER)
        for name, held in zip(factory.sources, factory.partition.members, strict=True)
    ]
    for found in factory.rounds(CORPUS.questions[:15]):
        for node, reply in zip(nodes, found.replies, strict=True):
            expected = node.retrieve(Query(found.question.text), 5)
            assert expected.documents == reply.documents


def test_sources_hold_independent_wordings_of_the_synthetic_world() -> None:
    world = load_corpus("synthetic", n_documents=240, seed=1, wordings=3)
    factory = RoundFactory(prepare(world, EMBEDDER), EMBEDDER, n_sources=6, replication=3)
    for start in range(0, 240, 3):
        holders = [
            {j for j, held in enumerate(factory.partition.members) if i in held}
            for i in range(start, start + 3)
        ]
        assert all(len(found) == 1 for found in holders)
        assert len(set.union(*holders)) == 3
    assert factory.shared() == frozenset()
    assert next(factory.rounds(select_questions(world, 1))).question.query_id in world.poisons


def test_a_corpus_without_categories_is_clustered() -> None:
    bare = small_corpus()
    for i, document in enumerate(bare.documents):
        bare.documents[i] = type(document)(document.doc_id, document.text, document.title)
    made = prepare(bare, EMBEDDER)
    assert isinstance(made, PreparedCorpus)
    assert 1 < len(set(made.labels)) <= 10
    assert made.labels == prepare(bare, EMBEDDER).labels
    assert set(PREPARED.labels) == {"c0", "c1", "c2", "c3"}


def test_malicious_sources_are_placed_by_chance_and_rounded_down() -> None:
    names = source_names(10)
    assert names[3] == "source-03"
    assert source_names(101)[7] == "source-007"
    assert len(place_malicious(names, 0.4, np.random.default_rng(0))) == 4
    assert len(place_malicious(names, 0.39, np.random.default_rng(0))) == 3
    assert place_malicious(names, 0.0, np.random.default_rng(0)) == []
    assert place_malicious(names, 1.0, np.random.default_rng(0)) == names
    drawn = {tuple(place_malicious(names, 0.3, np.random.default_rng(i))) for i in range(20)}
    assert len(drawn) > 10
    with pytest.raises(ConfigError, match=r"must be in \[0,1\], not 1.5"):
        place_malicious(names, 1.5, np.random.default_rng(0))


def test_half_or_more_malicious_is_allowed_with_a_warning() -> None:
    assert share_warning(4, 10) is None
    assert "the guarantee ends" in (share_warning(5, 10) or "")
    factory = RoundFactory(PREPARED, EMBEDDER, n_sources=4, malicious=0.5, attack="saa")
    assert factory.warning is not None
    assert len(next(factory.rounds(CORPUS.questions[:1])).malicious) == 2


def test_more_sources_than_documents() -> None:
    with pytest.raises(DataError, match="41 sources but 40 documents"):
        RoundFactory(PREPARED, EMBEDDER, n_sources=41)


def test_fifty_sources_with_one_document_or_none_to_spare() -> None:
    factory = RoundFactory(PREPARED, EMBEDDER, n_sources=40, attack="ata", malicious=0.4)
    found = next(factory.rounds(CORPUS.questions[:1]))
    assert [len(reply.documents) for reply in found.replies] == [1] * 40
