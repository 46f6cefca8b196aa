"""The node: from a question to a reply, over memory and over a store."""

from __future__ import annotations

import json
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import pytest

import source_node
from core.embedding.hashing import HashingEmbedder
from core.errors import AccessError, BudgetError, ConfigError, StoreError, WireError
from core.records import Document, NodeDescription, PrivacyRequest, Query, RetrievedDocument
from source_node import SourceNode
from source_node.accountant import Accountant
from source_node.index import embed_documents
from source_node.ingest import ingest
from source_node.privacy import PrivacyGate, PrivacyPolicy
from source_node.retrievers.base import Hit

EMBEDDER = HashingEmbedder(64)
DOCUMENTS = [
    Document("zinc", "Zinc is mined in Peru.", "Zinc", "mining"),
    Document("copper", "Copper wire conducts electricity."),
    Document("gold", "Gold was found in California."),
    Document("iron", "The iron gates lie on the Danube."),
]
VECTORS = embed_documents(DOCUMENTS, EMBEDDER)


def test_a_question_is_answered_with_whole_documents() -> None:
    node = SourceNode("clinic", DOCUMENTS, VECTORS, EMBEDDER)
    reply = node.retrieve(Query("where is zinc mined"), 2)
    assert reply.source_id == "clinic"
    assert reply.milliseconds > 0
    first, second = reply.documents
    assert first == RetrievedDocument(
        "clinic", "zinc", "Zinc is mined in Peru.", "Zinc", "mining", score=first.score, rank=1
    )
    assert second.rank == 2
    assert first.score >= second.score


@pytest.mark.parametrize("retriever", ["dense", "bm25", "hybrid"])
def test_every_retriever_answers(retriever: str) -> None:
    node = SourceNode("s", DOCUMENTS, VECTORS, EMBEDDER, retriever)
    assert node.retrieve(Query("gold in California"), 1).documents[0].doc_id == "gold"


def test_vectors_are_made_where_none_are_given() -> None:
    given = SourceNode("s", DOCUMENTS, VECTORS, EMBEDDER).retrieve(Query("iron"), 4)
    made = SourceNode("s", DOCUMENTS, embedder=EMBEDDER).retrieve(Query("iron"), 4)
    assert made.documents == given.documents


def test_bm25_needs_no_embedder_and_uses_none() -> None:
    class Never(HashingEmbedder):
        def embed(self, texts):
            raise AssertionError("bm25 embeds nothing")

    for embedder in (None, Never(8)):
        node = SourceNode("s", DOCUMENTS, None, embedder, "bm25")
        node.warm_up()
        assert node.retrieve(Query("copper"), 3).documents[0].doc_id == "copper"
        assert node.describe().embedder == ""


def test_it_says_what_it_is() -> None:
    node = SourceNode("s", DOCUMENTS, VECTORS, EMBEDDER, max_top_k=20)
    assert node.describe() == NodeDescription("s", 4, "dense", "hashing/64/v1", 20, ())
    assert repr(node) == "SourceNode('s', 4 documents, dense)"


def test_more_than_max_top_k_is_never_given() -> None:
    documents = [Document(str(i), f"zinc number {i}") for i in range(30)]
    node = SourceNode("s", documents, None, EMBEDDER, max_top_k=7)
    assert len(node.retrieve(Query("zinc"), 30).documents) == 7
    assert len(node.retrieve(Query("zinc"), 3).documents) == 3


def test_a_node_without_documents_answers_with_none() -> None:
    assert SourceNode("s", [], None, EMBEDDER).retrieve(Query("zinc"), 5).documents == ()


@pytest.mark.parametrize(("text", "top_k"), [("", 5), (" \n", 5), ("x" * 8_193, 5), ("q", 0), ("q", 101)])
def test_questions_out_of_bounds_are_refused(text: str, top_k: int) -> None:
    with pytest.raises(WireError):
        SourceNode("s", DOCUMENTS, VECTORS, EMBEDDER).retrieve(Query(text), top_k)


def test_wrong_settings_are_named() -> None:
    with pytest.raises(ConfigError, match=r"unknown retriever 'dens' \(did you mean 'dense'\?\)"):
        SourceNode("s", DOCUMENTS, VECTORS, EMBEDDER, "dens")
    with pytest.raises(ConfigError, match="unknown key 'k2'"):
        SourceNode("s", DOCUMENTS, VECTORS, EMBEDDER, "bm25", {"k2": 1})
    with pytest.raises(ConfigError, match="4 documents need as many vectors"):
        SourceNode("s", DOCUMENTS, VECTORS[:2], EMBEDDER)
    with pytest.raises(WireError, match="source_id is empty"):
        SourceNode("", DOCUMENTS, VECTORS, EMBEDDER)


def test_a_rewriting_retriever_changes_the_text_that_leaves(monkeypatch: pytest.MonkeyPatch) -> None:
    class Shouting:
        def __init__(self, documents, vectors, embedder) -> None:
            self.documents = documents

        def search(self, query_text, query_vector, top_k):
            return [Hit(i, 1.0, self.documents[i].text.upper()) for i in range(10 % len(self.documents))]

    monkeypatch.setattr("source_node.node.RETRIEVERS.get", lambda name: Shouting)
    reply = SourceNode("s", DOCUMENTS, VECTORS, EMBEDDER, "shouting").retrieve(Query("q"), 1)
    assert [d.text for d in reply.documents] == ["ZINC IS MINED IN PERU."]


def test_many_threads_get_what_one_gets() -> None:
    node = SourceNode("s", DOCUMENTS, VECTORS, EMBEDDER, "hybrid")
    questions = [Query(f"{word} {i}") for i in range(10) for word in ("zinc", "gold", "iron")]
    alone = [node.retrieve(query, 3).documents for query in questions]
    with ThreadPoolExecutor(8) as pool:
        assert list(pool.map(lambda query: node.retrieve(query, 3).documents, questions)) == alone


class TestStore:
    """A node over a store."""

    @pytest.fixture
    def store(self, tmp_path: Path) -> Path:
        ingest(DOCUMENTS, tmp_path, EMBEDDER, embedder_name="hashing:64")
        return tmp_path

    @pytest.mark.parametrize("retriever", ["dense", "bm25", "hybrid"])
    def test_it_answers_as_the_node_in_memory_does(self, store: Path, retriever: str) -> None:
        stored = SourceNode.open(store, "s", retriever=retriever)
        memory = SourceNode("s", DOCUMENTS, VECTORS, EMBEDDER, retriever)
        for text in ("zinc in Peru", "copper wire", "gates"):
            assert stored.retrieve(Query(text), 3).documents == memory.retrieve(Query(text), 3).documents

    def test_the_embedder_is_the_stores_own_unless_given(self, store: Path) -> None:
        assert SourceNode.open(store, "s").describe().embedder == "hashing/64/v1"
        assert SourceNode.open(store, "s", EMBEDDER).describe().embedder == "hashing/64/v1"
        with pytest.raises(StoreError, match="its vectors are from hashing/64/v1, not hashing/32/v1"):
            SourceNode.open(store, "s", "hashing:32")
        with pytest.raises(StoreError, match="not hashing/8/v1"):
            SourceNode.open(store, "s", HashingEmbedder(8))

    def test_questions_leave_no_trace_on_disk(self, store: Path, scr_cache: Path) -> None:
        node = SourceNode.open(store, "s")
        before = sorted(store.iterdir())
        node.retrieve(Query("a secret question"), 3)
        assert sorted(store.iterdir()) == before
        assert list(scr_cache.iterdir()) == []

    def test_a_question_is_embedded_once(self, store: Path) -> None:
        node = SourceNode.open(store, "s")
        for _ in range(3):
            node.retrieve(Query("zinc"), 1)
        assert (node._embedder.misses, node._embedder.hits) == (1, 2)

    def test_without_vectors_only_bm25_serves(self, tmp_path: Path) -> None:
        ingest(DOCUMENTS, tmp_path, None)
        with pytest.raises(ConfigError, match="ingested without an embedder: use --retriever bm25"):
            SourceNode.open(tmp_path, "s")
        node = SourceNode.open(tmp_path, "s", retriever="bm25")
        assert node.retrieve(Query("copper"), 1).documents[0].doc_id == "copper"

    def test_no_store_is_one_clear_line(self, tmp_path: Path) -> None:
        with pytest.raises(StoreError, match="no store here"):
            SourceNode.open(tmp_path / "nowhere", "s")


class TestPrivacy:
    """Requests for privacy."""

    def test_without_a_gate_they_are_refused(self) -> None:
        node = SourceNode("s", DOCUMENTS, VECTORS, EMBEDDER)
        with pytest.raises(AccessError, match="no privacy mechanism is offered, 'laplace' was asked for"):
            node.retrieve(Query("zinc"), 1, PrivacyRequest("laplace", 1.0))

    def test_a_gate_chooses_charges_and_releases_no_scores(self, tmp_path: Path) -> None:
        policy = PrivacyPolicy(budget=300.0, max_epsilon=200.0)
        gate = PrivacyGate(policy, Accountant(tmp_path / "ledger.sqlite", policy.budget))
        node = SourceNode("s", DOCUMENTS, VECTORS, EMBEDDER, privacy=gate)
        assert node.describe().privacy_mechanisms == ("laplace", "gumbel")
        query = Query("zinc mined in Peru", user_id="aggregator")
        reply = node.retrieve(query, 2, PrivacyRequest("laplace", 200.0))
        assert reply.documents[0].doc_id == "zinc"
        assert [d.score for d in reply.documents] == [0.0, 0.0]
        with pytest.raises(BudgetError):
            node.retrieve(query, 2, PrivacyRequest("laplace", 200.0))
        assert node.retrieve(query, 2).documents[0].score > 0, "no privacy asked, none required"
        other = Query("zinc", user_id="someone else")
        assert len(node.retrieve(other, 2, PrivacyRequest("gumbel", 1.0)).documents) == 2

    def test_a_policy_that_requires_privacy_applies_it_unasked(self) -> None:
        gate = PrivacyGate(PrivacyPolicy(required=True, epsilon=5.0), seed=1)
        node = SourceNode("s", DOCUMENTS, VECTORS, EMBEDDER, privacy=gate)
        orders = {
            tuple(d.doc_id for d in node.retrieve(Query("zinc", f"r{i}"), 4).documents) for i in range(20)
        }
        assert len(orders) > 1

    def test_coupled_or_missing_scores_are_named(self) -> None:
        gate = PrivacyGate(PrivacyPolicy(), seed=1)
        lexical = SourceNode("s", DOCUMENTS, VECTORS, EMBEDDER, "bm25", privacy=gate)
        with pytest.raises(ConfigError, match="ask for gumbel"):
            lexical.retrieve(Query("zinc"), 1, PrivacyRequest("laplace", 1.0))
        fused = SourceNode("s", DOCUMENTS, VECTORS, EMBEDDER, "hybrid", privacy=gate)
        with pytest.raises(ConfigError, match="'hybrid' cannot be private"):
            fused.retrieve(Query("zinc"), 1, PrivacyRequest("laplace", 1.0))


def test_the_package_exposes_the_node_lazily() -> None:
    assert source_node.SourceNode is SourceNode
    with pytest.raises(AttributeError, match="has no attribute 'Nothing'"):
        source_node.Nothing  # noqa: B018
    code = "import sys, source_node; print('numpy' in sys.modules, 'grpc' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.split() == ["False", "False"]


SERVED = """
import json, resource, sys
from core.records import Document, Query
from core.embedding.hashing import HashingEmbedder
from core.rpc import open_channel
from core.wire import from_retrieve_reply, to_retrieve_request
from protos import source_node_pb2_grpc as stubs
from source_node import SourceNode
from source_node.servicer import serve

documents = [Document(str(i), f"document number {i} about zinc and {i * i}") for i in range(400)]
seen = []
for retriever in ("dense", "bm25", "hybrid"):
    node = SourceNode("s", documents, None, HashingEmbedder(384), retriever)
    server = serve(node, "127.0.0.1:0", insecure=True)
    server.start()
    with open_channel(server.address) as channel:
        reply = stubs.SourceNodeStub(channel).Retrieve(to_retrieve_request(Query("zinc 9"), 5), timeout=10)
        seen.append(len(from_retrieve_reply(reply, "s").documents))
    server.stop(0)
heavy = "torch torch_geometric ray transformers sentence_transformers sklearn scipy aggregator sim gnn".split()
print(json.dumps({
    "answered": seen,
    "heavy": [name for name in heavy if name in sys.modules],
    "megabytes": int(open("/proc/self/statm").read().split()[1]) * resource.getpagesize() / 2**20,
}))
"""


def test_a_served_node_is_light(repository: Path) -> None:
    done = subprocess.run(
        [sys.executable, "-c", SERVED], capture_output=True, text=True, cwd=repository, check=True
    )
    found = json.loads(done.stdout)
    assert found["answered"] == [5, 5, 5]
    assert found["heavy"] == []
    assert found["megabytes"] < 100


def test_vectors_mapped_from_disk_are_not_copied(tmp_path: Path) -> None:
    ingest(DOCUMENTS, tmp_path, EMBEDDER, embedder_name="hashing:64")
    node = SourceNode.open(tmp_path, "s")
    assert isinstance(node._retriever._vectors, np.memmap)
