from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from rouge_score.rouge_scorer import RougeScorer

from defenses.rouge import alike, lcs_length, rouge_l, rouge_tokens

WORDS = st.lists(st.sampled_from(["running", "runs", "the", "hall", "halls", "blue", "a1", "B"]), max_size=30)
SCORER = RougeScorer(["rougeL"], use_stemmer=True)


def slow_lcs(left: list[str], right: list[str]) -> int:
    row = [0] * (len(right) + 1)
    for a in left:
        before = row
        row = [0]
        for j, b in enumerate(right):
            row.append(before[j] + 1 if a == b else max(before[j + 1], row[j]))
    return row[-1]


@given(WORDS, WORDS)
def test_lcs_equals_the_table(left: list[str], right: list[str]) -> None:
    assert lcs_length(left, right) == slow_lcs(left, right) == lcs_length(right, left)


@given(WORDS, WORDS)
def test_equals_the_rouge_package(left: list[str], right: list[str]) -> None:
    a, b = " ".join(left), " ".join(right)
    assert rouge_l(rouge_tokens(a), rouge_tokens(b)) == pytest.approx(SCORER.score(a, b)["rougeL"].fmeasure)


@given(st.text(max_size=80))
def test_tokens_of_any_text(text: str) -> None:
    from rouge_score.tokenizers import DefaultTokenizer

    assert rouge_tokens(text) == DefaultTokenizer(use_stemmer=True).tokenize(text)


@given(st.lists(WORDS, max_size=5), st.floats(0, 1))
def test_alike_marks_pairs_above_the_threshold(rows: list[list[str]], threshold: float) -> None:
    texts = [" ".join(row) for row in rows]
    found = alike(texts, threshold)
    for i in range(len(texts)):
        for j in range(len(texts)):
            expected = i != j and rouge_l(rouge_tokens(texts[i]), rouge_tokens(texts[j])) > threshold
            assert bool(found[i, j]) == expected
