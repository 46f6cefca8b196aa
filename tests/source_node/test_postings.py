"""The inverted index against a plain count."""

from __future__ import annotations

from collections import Counter

import pytest
from hypothesis import given
from hypothesis import strategies as st

from core.text import content_words
from source_node import postings as module
from source_node.postings import Postings

WORDS = ["apple", "pear", "plum", "fig", "the", "Fig's"]


@pytest.mark.parametrize("chunk", [1, 3, 1 << 17])
@given(texts=st.lists(st.lists(st.sampled_from(WORDS), max_size=8).map(" ".join), max_size=12))
def test_postings_hold_every_word_of_every_document(texts: list[str], chunk: int) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(module, "_CHUNK", chunk)
        index = Postings(texts)
    counts = [Counter(content_words(text)) for text in texts]
    assert index.lengths.tolist() == [count.total() for count in counts]
    assert len(index) == len(texts)
    for word in {word for count in counts for word in count}:
        documents, times = index.of(word)
        assert list(zip(documents.tolist(), times.tolist(), strict=True)) == [
            (i, count[word]) for i, count in enumerate(counts) if word in count
        ]


def test_an_unknown_word_and_a_stop_word_are_nowhere() -> None:
    index = Postings(["the apple"])
    assert len(index.of("pear")[0]) == len(index.of("the")[0]) == 0
    assert len(Postings([]).of("apple")[0]) == 0


def test_a_posting_costs_six_bytes() -> None:
    index = Postings(" ".join(f"word{j}" for j in range(i, i + 50)) for i in range(200))
    assert index.nbytes == 200 * 50 * 6 + 200 * 4 + (249 + 1) * 8
