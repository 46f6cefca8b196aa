"""What every retriever keeps, whoever wrote it: a new one earns these tests by its line in the table."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor

import pytest

from core.embedding.hashing import HashingEmbedder
from core.errors import ConfigError
from core.records import Document
from source_node.index import embed_documents
from source_node.retrievers import RETRIEVERS
from source_node.retrievers.base import Scoring

TOPICS = ["zinc mining in peru", "copper wire prices", "gold rush history", "iron gates of the danube"]
DOCUMENTS = [
    Document(f"doc-{(7 * i) % 60:02d}", f"{TOPICS[i % 4]} part {i // 8} with plenty of further words")
    for i in range(60)
]
EMBEDDER = HashingEmbedder(64)
VECTORS = embed_documents(DOCUMENTS, EMBEDDER)
BUILT_IN = [name for name in RETRIEVERS.names() if RETRIEVERS._table.get(name)]


@pytest.fixture(scope="module", params=BUILT_IN)
def retriever(request: pytest.FixtureRequest):
    return RETRIEVERS.get(request.param)(DOCUMENTS, VECTORS, EMBEDDER)


def search(retriever, question: str, k: int):
    return retriever.search(question, EMBEDDER.embed([question])[0], k)


@pytest.mark.parametrize("k", [1, 5, 60, 100])
def test_hits_are_distinct_documents_in_order_of_score(retriever, k: int) -> None:
    hits = search(retriever, "copper wire", k)
    assert len(hits) <= min(k, len(DOCUMENTS))
    assert len({hit.index for hit in hits}) == len(hits)
    assert all(0 <= hit.index < len(DOCUMENTS) for hit in hits)
    scores = [hit.score for hit in hits]
    assert scores == sorted(scores, reverse=True)


def test_the_topic_that_was_asked_for_comes_first(retriever) -> None:
    for topic in TOPICS:
        hits = search(retriever, topic, 1)  # a defended retriever may withhold what it finds
        assert all(DOCUMENTS[hit.index].text.startswith(topic) for hit in hits)


def test_equal_scores_come_in_the_order_of_the_ids(retriever) -> None:
    hits = [(-hit.score, DOCUMENTS[hit.index].doc_id) for hit in search(retriever, "copper wire", 10)]
    assert hits == sorted(hits)


def test_the_order_of_the_documents_does_not_matter(retriever) -> None:
    backwards = type(retriever)(DOCUMENTS[::-1], VECTORS[::-1].copy(), EMBEDDER)
    first, second = search(retriever, "iron gates", 8), search(backwards, "iron gates", 8)
    assert [DOCUMENTS[h.index].doc_id for h in first] == [DOCUMENTS[::-1][h.index].doc_id for h in second]


def test_many_threads_get_what_one_gets(retriever) -> None:
    questions = [f"{topic} {i}" for topic in TOPICS for i in range(5)]
    alone = [search(retriever, question, 5) for question in questions]
    with ThreadPoolExecutor(8) as pool:
        assert list(pool.map(lambda question: search(retriever, question, 5), questions)) == alone


def test_more_hits_do_not_change_the_first_ones(retriever) -> None:
    few, many = search(retriever, "gold rush", 3), search(retriever, "gold rush", 20)
    assert [hit.index for hit in many[:3]] == [hit.index for hit in few]


def test_scores_of_all_documents_agree_with_the_search(retriever) -> None:
    if not isinstance(retriever, Scoring):
        return
    scores = retriever.scores("zinc", EMBEDDER.embed(["zinc"])[0])
    assert scores.shape == (len(DOCUMENTS),)
    assert all(scores[hit.index] == pytest.approx(hit.score) for hit in search(retriever, "zinc", 10))


def test_an_unknown_option_is_an_error(retriever) -> None:
    with pytest.raises(ConfigError, match="no_such_option"):
        type(retriever)(DOCUMENTS, VECTORS, EMBEDDER, no_such_option=1)
