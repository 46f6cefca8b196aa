from __future__ import annotations

import pickle
from collections.abc import Sequence

import pytest

from core.embedding.hashing import HashingEmbedder
from core.records import Document, Query
from sim.attacks.base import AttackOptions
from sim.attacks.schedule import SourceOrders, build_schedule
from sim.behaviors import open_behavior
from sim.corpora.records import Corpus
from sim.simulated_source import SimulatedSource
from source_node.node import SourceNode
from tests.sim.small_corpus import small_corpus

CORPUS = small_corpus()
SOURCES = ["s0", "s1", "s2", "s3"]
LIARS = ["s1", "s3"]
QUESTION = CORPUS.questions[0]


def orders(
    attack: str, behavior: str = "steady", rounds: int = 1, **options: object
) -> dict[str, SourceOrders]:
    asked = [(f"r{i}", QUESTION, True) for i in range(rounds)]
    made = build_schedule(
        CORPUS, asked, LIARS, SOURCES, attack, AttackOptions(**options), 5, 7, open_behavior(behavior)
    )
    return pickle.loads(pickle.dumps(made))


def source(name: str, given: dict[str, SourceOrders], documents: Sequence[Document] = ()) -> SimulatedSource:
    node = SourceNode(name, list(documents or CORPUS.documents), embedder=HashingEmbedder())
    return SimulatedSource(node, given[name])


def texts(found: SimulatedSource, request: str = "r0", top_k: int = 5) -> list[str]:
    return [d.text for d in found.retrieve(Query(QUESTION.text, request), top_k).documents]


HONEST = texts(source("s0", orders("none")))


def test_honest_sources_and_unnamed_requests_are_answered_honestly() -> None:
    given = orders("poisonedrag")
    assert texts(source("s0", given)) == HONEST
    assert texts(source("s1", given), "another request") == HONEST
    assert source("s1", given).describe().source_id == "s1"


def test_texts_stand_in_front_and_the_rest_is_the_sources_own() -> None:
    found = (
        source("s1", orders("poisonedrag", per_source=2)).retrieve(Query(QUESTION.text, "r0"), 5).documents
    )
    assert [d.text.startswith(QUESTION.text) for d in found] == [True, True, False, False, False]
    assert [d.text for d in found[2:]] == HONEST[:3]
    assert [d.rank for d in found] == [1, 2, 3, 4, 5]
    assert found[0].title == CORPUS.documents[0].title
    assert found[0].category is not None
    assert all(0 <= d.score <= 1 for d in found)
    assert found[0].score >= found[2].score


def test_no_more_than_top_k() -> None:
    found = source("s1", orders("poisonedrag"))
    assert len(texts(found)) == 5
    assert len(texts(found, top_k=3)) == 3


def test_a_source_with_few_documents_still_attacks() -> None:
    found = source("s1", orders("poisonedrag", per_source=3), CORPUS.documents[:1])
    assert len(texts(found)) == 4


def test_tampering_alters_all_or_the_first_k_documents() -> None:
    assert not set(texts(source("s1", orders("ata")))) & set(HONEST)
    partly = texts(source("s1", orders("ata", per_source=1)))
    assert partly[0] != HONEST[0]
    assert partly[1:] == HONEST[1:]


def test_swap_turns_the_sides() -> None:
    given = orders("ata", swap=True)
    assert texts(source("s1", given)) == HONEST
    edited = texts(source("s0", given))
    assert not set(edited) & set(HONEST)
    assert edited == texts(source("s2", given)) == texts(source("s1", orders("ata")))


def test_colluding_sources_edit_alike_others_do_not() -> None:
    together, apart = orders("ata"), orders("ata", collude=False)
    assert texts(source("s1", together)) == texts(source("s3", together))
    assert texts(source("s1", apart)) != texts(source("s3", apart))


def test_rewording_is_each_sources_own_and_keeps_to_what_is_shared() -> None:
    given = orders("none", reword=True)
    a, b = texts(source("s0", given)), texts(source("s2", given))
    assert not set(a) & set(b)
    assert not set(a) & set(HONEST)
    made = build_schedule(
        CORPUS,
        [("r0", QUESTION, True)],
        [],
        SOURCES,
        "none",
        AttackOptions(reword=True),
        5,
        7,
        shared=["d00"],
    )
    told = texts(source("s0", made))
    assert sum(x != y for x, y in zip(told, HONEST, strict=True)) == 1


def test_a_flood_fills_every_slot_with_one_text_under_different_ids() -> None:
    for attack in ("poisonedrag", "ata"):
        found = (
            source("s1", orders(attack, "duplicate-flood")).retrieve(Query(QUESTION.text, "r0"), 5).documents
        )
        assert len({d.text for d in found}) == 1
        assert len({d.doc_id for d in found}) == 5
        assert found[0].text not in HONEST


@pytest.mark.parametrize("attack", ["poisonedrag", "ata"])
def test_a_whitewasher_answers_under_its_new_name(attack: str) -> None:
    given = orders(attack, "whitewashing:1", rounds=3)
    found = source("s1", given)
    names = [found.retrieve(Query(QUESTION.text, f"r{i}"), 5) for i in range(3)]
    assert [reply.source_id for reply in names] == ["s1", "s1-1", "s1-2"]
    assert all(d.source_id == reply.source_id for reply in names for d in reply.documents)


def test_the_same_request_has_the_same_answer() -> None:
    for attack in ("saa", "poisonedrag", "ata"):
        given = orders(attack)
        assert texts(source("s1", given)) == texts(source("s1", orders(attack)))


def test_an_injected_text_is_not_returned_twice() -> None:
    own = Document(orders("saa")["s1"].orders["r0"].inject[0].doc_id, "Harbour of Arden A was opened by who?")
    found = source("s1", orders("saa"), [own, *CORPUS.documents[:2]])
    ids = [d.doc_id for d in found.retrieve(Query(QUESTION.text, "r0"), 9).documents]
    assert len(ids) == len(set(ids))


def test_corpora_of_nothing_but_one_document_can_be_tampered_with() -> None:
    corpus = Corpus("one", CORPUS.documents[:1], CORPUS.questions[:1])
    made = build_schedule(corpus, [("r0", QUESTION, True)], ["s1"], ["s1"], "ata", AttackOptions(), 5, 0)
    assert texts(source("s1", made, corpus.documents)) != [corpus.documents[0].text]
