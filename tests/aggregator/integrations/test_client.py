from __future__ import annotations

import asyncio

import pytest

from aggregator.integrations.client import AggregatorClient, Submitted, source_of
from core.errors import ConfigError, DataError, ScrError, WireError
from tests.aggregator.integrations.served import FORGED, MORE, QUESTION, SOUND, federation, without_blocking


@pytest.fixture(scope="module")
def served():
    with federation() as running:
        yield running


@pytest.fixture
def client(served):
    found = AggregatorClient(served[0])
    yield found
    found.close()


def test_a_federation_answers_with_verdicts(client):
    asked = client.ask(QUESTION)
    by_source = {one.source: one for one in asked.documents}
    assert {source: one.kept for source, one in by_source.items()} == {
        "sound": True,
        "forged": False,
        "gate": True,
    }
    assert by_source["sound"].metadata() == {
        "source": "sound", "credibility": 0.9, "verdict": "keep", "reason": "poison: passed",
        "kept": True, "holders": ["sound"],
    }  # fmt: skip
    assert (by_source["forged"].verdict, by_source["forged"].reason) == ("drop", "poison: says_poison")
    assert by_source["sound"].described()["doc_id"] == "d0"


def test_documents_come_back_in_their_order_copies_included(client):
    given = [
        Submitted("x", FORGED),
        Submitted("y", SOUND),
        Submitted("y", SOUND + " "),
        Submitted("z", SOUND),
    ]
    judged = client.verify(QUESTION, given)
    assert [(one.source, one.kept) for one in judged] == [("x", False), ("y", True), ("y", True), ("z", True)]
    assert set(judged[1].holders) == {"y", "z"}
    assert judged[2].text == SOUND + " "
    assert client.verify(QUESTION, []) == []
    assert asyncio.run(client.averify(QUESTION, [])) == []


def test_the_async_ways_give_the_same(client):
    given = [Submitted("x", FORGED), Submitted("y", MORE)]
    assert asyncio.run(client.averify(QUESTION, given)) == client.verify(QUESTION, given)
    assert {d.text for d in asyncio.run(client.aask(QUESTION)).documents} == {SOUND, FORGED, MORE}


def test_waiting_for_an_answer_does_not_block_the_loop(served):
    connection, gate = served
    client = AggregatorClient(connection)
    assert without_blocking(client.aask("wait: where?"), gate).answer
    client.close()


def test_a_dead_aggregator_is_one_clear_line():
    client = AggregatorClient({"address": "127.0.0.1:1", "insecure": True, "timeout": 30})
    for call in (lambda: client.ask(QUESTION), lambda: asyncio.run(client.aask(QUESTION))):
        with pytest.raises(ScrError, match=r"aggregator 127\.0\.0\.1:1: unavailable"):
            call()
    client.close()


@pytest.mark.parametrize(
    ("connection", "told"),
    [
        ({"address": "127.0.0.1:1"}, "insecure"),
        ({"address": "nowhere", "insecure": True}, "nowhere"),
        ({"insecure": True}, "address"),
        ({"address": "127.0.0.1:1", "insecure": True, "colour": 1}, "colour"),
    ],
)
def test_a_wrong_connection_is_named(connection, told):
    with pytest.raises(ConfigError, match=told):
        AggregatorClient(connection)


def test_a_document_must_name_its_source(client):
    assert source_of({"source": 7}, "source", 0) == "7"
    assert len(source_of({"url": "x" * 999}, "url", 0)) == 32
    for metadata in (None, {}, {"source": " "}):
        with pytest.raises(DataError, match="document 3 has no metadata key 'source'"):
            source_of(metadata, "source", 3)
    with pytest.raises(WireError, match="text of y"):
        client.verify(QUESTION, [Submitted("y", " ")])
