"""A node's privacy over the wire: budgets belong to callers, not to connections."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from aggregator.source_client import SourceClient
from core.embedding.hashing import HashingEmbedder
from core.records import Document, PrivacyRequest, Query, SourceFailure, SourceReply
from source_node.accountant import Accountant
from source_node.node import SourceNode
from source_node.privacy import PrivacyGate, PrivacyPolicy
from source_node.servicer import serve

DOCUMENTS = [Document(f"d{i:03d}", f"note {i} about topic {i % 7} and item {i % 11}") for i in range(80)]
CLIENTS, ANSWERS = 64, 20


@pytest.fixture
def ledger(tmp_path: Path) -> Path:
    return tmp_path / "privacy.sqlite"


def served(ledger: Path, retriever: str = "dense", **policy: object):
    rules = PrivacyPolicy(budget=10.0, **policy)
    gate = PrivacyGate(rules, Accountant(ledger, rules.budget))
    node = SourceNode("clinic", DOCUMENTS, None, HashingEmbedder(64), retriever, privacy=gate)
    server = serve(node, "127.0.0.1:0", insecure=True, max_concurrent=2 * CLIENTS)
    server.start()
    return server


def ask(address: str, privacy: PrivacyRequest | None) -> SourceReply | SourceFailure:
    """One question over a connection of its own."""
    client = SourceClient("clinic", address, deadline_s=60.0)
    try:
        return client.start(Query("topic 3", "r1"), 5, None, privacy).result()
    finally:
        client.close()


def test_sixty_four_clients_share_one_budget_and_a_restart_changes_nothing(ledger: Path) -> None:
    server = served(ledger)
    request = PrivacyRequest("laplace", 10.0 / ANSWERS)
    try:
        with ThreadPoolExecutor(CLIENTS) as pool:
            results = list(pool.map(lambda _: ask(server.address, request), range(CLIENTS)))
    finally:
        server.stop(0)
    replies = [result for result in results if isinstance(result, SourceReply)]
    refused = [result for result in results if isinstance(result, SourceFailure)]
    assert len(replies) == ANSWERS
    assert {failure.kind for failure in refused} == {"refused"}
    assert all("privacy budget is spent" in failure.detail for failure in refused)
    assert all(document.score == 0.0 for reply in replies for document in reply.documents)
    assert all(len(reply.documents) == 5 for reply in replies)
    again = served(ledger)
    try:
        assert isinstance(ask(again.address, request), SourceFailure)
        assert isinstance(ask(again.address, None), SourceReply)
    finally:
        again.stop(0)
    assert Accountant(ledger, 10.0).spent("") == pytest.approx(10.0)


def test_required_privacy_covers_and_charges_plain_requests(ledger: Path) -> None:
    server = served(ledger, required=True, epsilon=4.0)
    try:
        answers = [ask(server.address, None) for _ in range(3)]
    finally:
        server.stop(0)
    assert [type(answer) for answer in answers] == [SourceReply, SourceReply, SourceFailure]


def test_what_is_not_offered_is_refused_and_costs_nothing(ledger: Path) -> None:
    server = served(ledger, retriever="bm25")
    try:
        for request in (PrivacyRequest("noisy-threshold", 1.0), PrivacyRequest("laplace", 11.0)):
            assert isinstance(ask(server.address, request), SourceFailure)
        # BM25 couples scores through document frequencies: only the mechanism made for that will do
        assert isinstance(ask(server.address, PrivacyRequest("laplace", 1.0)), SourceFailure)
        assert isinstance(ask(server.address, PrivacyRequest("gumbel", 1.0)), SourceReply)
    finally:
        server.stop(0)
    assert Accountant(ledger, 10.0).spent("") == 1.0
