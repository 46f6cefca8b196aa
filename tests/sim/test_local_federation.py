"""The in-process federation: real nodes, real privacy, the attack's orders."""

from __future__ import annotations

import pytest

from core.embedding.cache import CachedEmbedder
from core.embedding.hashing import HashingEmbedder
from core.records import PrivacyRequest, Query
from sim.corpora import load_corpus, select_questions
from sim.local_federation import LocalFederation
from sim.rounds import PreparedCorpus, prepare
from source_node.privacy import PrivacyPolicy

EMBEDDER = CachedEmbedder(HashingEmbedder(128))


@pytest.fixture(scope="module")
def prepared() -> PreparedCorpus:
    return prepare(load_corpus("synthetic", n_documents=200), EMBEDDER)


def test_exact_and_private_replies(prepared: PreparedCorpus) -> None:
    federation = LocalFederation(prepared, EMBEDDER, n_sources=4, top_k=3)
    query = Query(prepared.corpus.questions[0].text, "r0")
    exact = federation.gather(query)
    assert [len(reply.documents) for reply in exact.replies] == [3] * 4
    much = federation.gather(query, PrivacyRequest("laplace", 1e7))
    ids = [[d.doc_id for d in reply.documents] for reply in exact.replies]
    assert ids == [[d.doc_id for d in reply.documents] for reply in much.replies]
    little = federation.gather(query, PrivacyRequest("laplace", 0.01))
    assert ids != [[d.doc_id for d in reply.documents] for reply in little.replies]
    assert {d.score for reply in little.replies for d in reply.documents} == {0.0}
    assert federation.gather(query, PrivacyRequest("laplace", 0.01)).replies[0].documents == (
        little.replies[0].documents
    )


def test_a_refusing_source_is_a_failure(prepared: PreparedCorpus) -> None:
    federation = LocalFederation(prepared, EMBEDDER, n_sources=2, privacy=PrivacyPolicy(mechanisms=()))
    gathered = federation.gather(Query("who", "r0"), PrivacyRequest("laplace", 1.0))
    assert gathered.replies == ()
    assert [failure.kind for failure in gathered.failures] == ["refused", "refused"]


def test_malicious_sources_attack_named_requests_only(prepared: PreparedCorpus) -> None:
    question = select_questions(prepared.corpus, 1)[0]
    federation = LocalFederation(
        prepared, EMBEDDER, n_sources=5, malicious=0.4, attack="poisonedrag", attacked=[("evil", question)]
    )
    honest = federation.gather(Query(question.text, "calm"))
    attacked = federation.gather(Query(question.text, "evil"))
    labels = federation.labeller.label_all(attacked.replies, "evil")
    assert {key.source_id for key, label in labels.items() if label == "malicious"} == set(
        federation.malicious
    )
    assert "malicious" not in federation.labeller.label_all(honest.replies, "calm").values()
