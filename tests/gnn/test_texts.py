from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from core.text import words
from gnn.texts import (
    MAX_SENTENCE_CHARACTERS,
    MAX_SENTENCES,
    as_line,
    document_sentences,
    forget_texts,
    word_line,
)


def test_a_run_of_words_is_a_substring() -> None:
    line = word_line("The bell, of Arden!")
    assert line == " the bell of arden "
    assert as_line(["bell", "of"]) in line
    assert as_line(["be"]) not in line


@given(st.text(max_size=60), st.text(max_size=20))
def test_a_word_stands_in_the_line_iff_it_is_one_of_the_words(text: str, other: str) -> None:
    for word in words(other):
        assert (as_line([word]) in word_line(text)) == (word in words(text))


def test_a_document_is_bounded_in_sentences_and_their_length() -> None:
    assert len(document_sentences(" ".join(["It ran."] * 200))) == MAX_SENTENCES
    assert max(map(len, document_sentences("y" * 5000))) == MAX_SENTENCE_CHARACTERS


def test_what_is_remembered_cannot_be_changed_by_who_asked() -> None:
    document_sentences("One. Two.").append("Three.")
    assert document_sentences("One. Two.") == ["One.", "Two."]
    forget_texts()
    assert document_sentences("One. Two.") == ["One.", "Two."]
