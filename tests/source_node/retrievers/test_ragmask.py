from __future__ import annotations

import pytest

from core.embedding.hashing import HashingEmbedder
from core.errors import ConfigError
from core.records import Document, Query
from source_node import SourceNode
from source_node.retrievers.ragmask import RagMaskRetriever

EMBEDDER = HashingEmbedder(128)
QUESTION = "capital city of france"
VECTOR = EMBEDDER.embed([QUESTION])[0]
FOREIGN = "ships waited in a quiet harbour while fishermen mended nets under gulls at dusk"
HELD = [
    Document("honest", "paris is the capital of france and the largest city that france has"),
    Document("poison", f"{QUESTION} {FOREIGN}"),
    Document("foreign", FOREIGN),
    Document("copies", "capital city france " * 4),
]
OPTIONS = {"segment": 4, "delta": 0.05}


def test_a_planted_question_is_cut_from_what_is_returned() -> None:
    hits = RagMaskRetriever(HELD, None, EMBEDDER, **OPTIONS).search(QUESTION, VECTOR, 4)
    texts = {HELD[hit.index].doc_id: hit.text for hit in hits}
    assert texts["poison"] == FOREIGN
    assert texts["foreign"] is None
    scores = [hit.score for hit in hits]
    assert scores == sorted(scores, reverse=True)


def test_stored_texts_where_rewriting_is_off() -> None:
    hits = RagMaskRetriever(HELD, None, EMBEDDER, rewrite=False, **OPTIONS).search(QUESTION, VECTOR, 4)
    assert all(hit.text is None for hit in hits)


def test_a_node_answers_with_the_sanitized_text() -> None:
    node = SourceNode("s", HELD, None, EMBEDDER, "ragmask", OPTIONS)
    texts = {d.doc_id: d.text for d in node.retrieve(Query(QUESTION), 4).documents}
    assert texts["poison"] == FOREIGN


@pytest.mark.parametrize(
    ("embedder", "options", "words"),
    [
        (None, {}, "needs an embedder"),
        (EMBEDDER, {"delta": -0.1}, "delta"),
        (EMBEDDER, {"mode": "fast"}, "mode 'exact'"),
        (EMBEDDER, {"keep": 3}, "unknown key 'keep'"),
    ],
)
def test_mistakes_are_named(embedder, options, words: str) -> None:
    with pytest.raises(ConfigError, match=words):
        RagMaskRetriever(HELD, None, embedder, **options)


def test_a_question_without_a_vector_is_refused() -> None:
    with pytest.raises(ConfigError, match="for the question"):
        RagMaskRetriever(HELD, None, EMBEDDER).search(QUESTION, None, 1)
