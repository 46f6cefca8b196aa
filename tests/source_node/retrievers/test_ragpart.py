from __future__ import annotations

import numpy as np
import pytest

from core.embedding.hashing import HashingEmbedder
from core.errors import ConfigError
from core.records import Document, Query
from source_node import SourceNode
from source_node.retrievers.ragpart import RagPartRetriever

EMBEDDER = HashingEmbedder(128)
QUESTION = "capital city of france"
VECTOR = EMBEDDER.embed([QUESTION])[0]
TEXTS = {
    "z": "paris the capital city of france lies on the seine in france and paris is its capital city",
    "b": "france has one capital city paris and the city of paris has been capital of france long",
    "poison": f"{QUESTION} ships waited in a quiet harbour while fishermen mended nets under gulls at dusk",
    "short": "harbour",
    "a": "gulls circle over boats",
}


def documents(order: list[str]) -> list[Document]:
    return [Document(name, TEXTS[name]) for name in order]


def test_the_vote_decides_and_file_order_does_not() -> None:
    found = []
    for order in (list(TEXTS), sorted(TEXTS), sorted(TEXTS, reverse=True)):
        held = documents(order)
        hits = RagPartRetriever(held, None, EMBEDDER).search(QUESTION, VECTOR, 2)
        found.append([held[hit.index].doc_id for hit in hits])
    assert found[0] == found[1] == found[2]
    assert set(found[0]) == {"z", "b"}


def test_equal_documents_come_in_the_order_of_their_ids() -> None:
    held = [Document(name, TEXTS["a"]) for name in ("c", "a", "b")]
    hits = RagPartRetriever(held, None, EMBEDDER, aggregation="intersection").search(QUESTION, VECTOR, 2)
    assert [held[hit.index].doc_id for hit in hits] == ["a", "b"]


def test_more_asked_for_than_there_are() -> None:
    held = documents(list(TEXTS))
    hits = RagPartRetriever(held, None, EMBEDDER, fragments=2, combine=1).search(QUESTION, VECTOR, 50)
    assert sorted(hit.index for hit in hits) == list(range(5))
    assert RagPartRetriever([], None, EMBEDDER).search(QUESTION, VECTOR, 3) == []


def test_a_node_answers_with_it() -> None:
    node = SourceNode("s", documents(list(TEXTS)), None, EMBEDDER, "ragpart", {"similarity": "cosine"})
    reply = node.retrieve(Query(QUESTION), 2)
    assert {d.doc_id for d in reply.documents} == {"z", "b"}
    assert all(np.isfinite(d.score) for d in reply.documents)


@pytest.mark.parametrize(
    ("embedder", "options", "words"),
    [
        (None, {}, "needs an embedder"),
        (EMBEDDER, {"combine": 6}, "at most fragments"),
        (EMBEDDER, {"keep": 3}, "unknown key 'keep'"),
    ],
)
def test_mistakes_are_named(embedder, options, words: str) -> None:
    with pytest.raises(ConfigError, match=words):
        RagPartRetriever([], None, embedder, **options)


def test_a_question_without_a_vector_is_refused() -> None:
    with pytest.raises(ConfigError, match="for the question"):
        RagPartRetriever([], None, EMBEDDER).search(QUESTION, None, 1)
