"""BM25 against its formula, by hand."""

from __future__ import annotations

import math

import numpy as np
import pytest

from core.errors import ConfigError
from core.records import Document
from source_node.retrievers.bm25 import BM25Retriever

DOCUMENTS = [
    Document("c", "zinc copper zinc"),
    Document("a", "copper iron gold silver"),
    Document("b", "iron"),
]


def by_hand(query: list[str], words: list[str], k1: float, b: float) -> float:
    bags = [d.text.split() for d in DOCUMENTS]
    mean = sum(map(len, bags)) / len(bags)
    total = 0.0
    for word in query:
        n = sum(word in bag for bag in bags)
        idf = math.log(1 + (len(bags) - n + 0.5) / (n + 0.5))
        if not (f := words.count(word)):
            continue
        total += idf * f * (k1 + 1) / (f + k1 * (1 - b + b * len(words) / mean))
    return total


@pytest.mark.parametrize(("k1", "b"), [(1.2, 0.75), (0.0, 0.5), (2.0, 0.0), (1.5, 1.0)])
def test_scores_are_the_formula(k1: float, b: float) -> None:
    retriever = BM25Retriever(DOCUMENTS, None, None, k1=k1, b=b)
    scores = retriever.scores("Is zinc or copper the copper?", None)
    wanted = [by_hand(["zinc", "copper", "copper"], d.text.split(), k1, b) for d in DOCUMENTS]
    np.testing.assert_allclose(scores, wanted, atol=2e-6)


def test_only_documents_that_share_a_word_are_found() -> None:
    retriever = BM25Retriever(DOCUMENTS, None, None)
    assert [hit.index for hit in retriever.search("silver zinc", None, 5)] == [0, 1]
    assert retriever.search("platinum", None, 5) == []
    assert retriever.search("who is the", None, 5) == []


def test_ties_come_in_the_order_of_the_ids() -> None:
    documents = [Document(doc_id, "same words") for doc_id in ("z", "m", "a", "q")]
    retriever = BM25Retriever(documents, None, None)
    assert [documents[hit.index].doc_id for hit in retriever.search("words", None, 3)] == ["a", "m", "q"]


def test_titles_count() -> None:
    retriever = BM25Retriever([Document("a", "one"), Document("b", "two", "Nobel prize")], None, None)
    assert [hit.index for hit in retriever.search("nobel", None, 5)] == [1]


def test_no_documents_give_no_hits() -> None:
    assert BM25Retriever([], None, None).search("words", None, 5) == []


def test_a_wrong_option_is_named() -> None:
    with pytest.raises(ConfigError, match=r"retriever 'bm25': unknown key 'k'; known keys: b, k1"):
        BM25Retriever(DOCUMENTS, None, None, k=1)
    with pytest.raises(ConfigError, match=r"b: .*less than or equal to 1"):
        BM25Retriever(DOCUMENTS, None, None, b=2)
