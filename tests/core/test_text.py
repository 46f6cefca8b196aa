from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from core import text


@given(st.text(), st.text())
def test_content_hash_tells_texts_apart(left: str, right: str) -> None:
    assert (text.content_hash(left) == text.content_hash(right)) == (left == right)
    assert len(text.content_hash(left)) == 32


def test_content_hash_takes_lone_surrogates() -> None:
    assert text.content_hash("\ud800") != text.content_hash("\ud801")


@given(st.text(alphabet=st.characters()))
def test_clean_is_idempotent_and_encodable(value: str) -> None:
    once = text.clean(value)
    assert text.clean(once) == once
    once.encode("utf-8")


def test_clean_keeps_newlines_and_drops_control_characters() -> None:
    assert text.clean("a\x00b\nc\td\ud800") == "ab\nc\td"
    assert text.clean("e\u0301") == "é"


@given(st.text())
def test_squash_leaves_single_blanks(value: str) -> None:
    squashed = text.squash(value)
    assert squashed == " ".join(value.split())
    assert text.squash(squashed) == squashed


@given(st.text(), st.integers(0, 5))
def test_first_words_are_a_prefix_of_words(value: str, n: int) -> None:
    assert text.first_words(value, n) == text.words(value)[:n]


def test_words_keep_apostrophes_and_digits() -> None:
    assert text.words("It's 42, O’Neil's naïve_test!") == ["it's", "42", "o’neil", "s", "naïve", "test"]


def test_content_words_drop_stop_words() -> None:
    assert text.content_words("The cat is on the mat") == ["cat", "mat"]
    assert len(text.stop_words()) == 318


@pytest.mark.parametrize(
    ("given_text", "expected"),
    [
        ("One. Two! Three? Four", ["One.", "Two!", "Three?", "Four"]),
        ("Dr. Smith met Mrs. Jones. They left.", ["Dr. Smith met Mrs. Jones.", "They left."]),
        ("J. K. Rowling wrote. He read.", ["J. K. Rowling wrote.", "He read."]),
        ("It rose 3.5 percent. Then fell.", ["It rose 3.5 percent.", "Then fell."]),
        ('He said "Go." Then he went.', ['He said "Go."', "Then he went."]),
        ("line one\n\nline two", ["line one", "line two"]),
        ("  \n ", []),
    ],
)
def test_sentences(given_text: str, expected: list[str]) -> None:
    assert text.sentences(given_text) == expected


@given(st.text(alphabet="aAbB .!?\n\"'()1"))
def test_sentences_lose_nothing_but_white_space(value: str) -> None:
    found = text.sentences(value)
    assert all(found)
    assert "".join("".join(found).split()) == "".join(value.split())


@given(st.lists(st.sampled_from("abc")), st.integers(1, 5))
def test_ngrams_count(tokens: list[str], n: int) -> None:
    grams = text.ngrams(tokens, n)
    assert len(grams) == max(0, len(tokens) - n + 1)
    assert all(len(gram) == n for gram in grams)


@given(st.sets(st.integers(0, 9)), st.sets(st.integers(0, 9)))
def test_jaccard_is_symmetric_and_bounded(left: set[int], right: set[int]) -> None:
    value = text.jaccard(left, right)
    assert value == text.jaccard(right, left)
    assert 0 <= value <= 1
    assert (value == 1) == (left == right and bool(left))


@pytest.mark.parametrize(
    ("passage", "answer", "expected"),
    [
        ("The Eiffel Tower stands in Paris.", "paris", True),
        ("The Eiffel Tower stands in Paris.", "Par", False),
        ("a 1,776-foot tower", "1776", False),
        ("Barack H. Obama", "the Barack H Obama", True),
        ("anything", "", False),
        ("anything", "...", False),
    ],
)
def test_contains_answer(passage: str, answer: str, expected: bool) -> None:
    assert text.contains_answer(passage, answer) is expected


@given(st.text())
def test_normalise_answer_is_idempotent(value: str) -> None:
    once = text.normalise_answer(value)
    assert text.normalise_answer(once) == once
