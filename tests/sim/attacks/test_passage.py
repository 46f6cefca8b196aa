from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from sim.attacks.lexicon import Lexicon
from sim.attacks.passage import Edit, Passage, sentence_spans


@given(st.text(alphabet=st.sampled_from("aB1 .!?\n\"'(") | st.characters(), max_size=80))
def test_spans_are_ordered_apart_and_leave_out_only_white_space(text: str) -> None:
    spans = sentence_spans(text)
    position = 0
    for start, end in spans:
        assert position <= start < end <= len(text)
        assert text[start:end].strip()
        assert (
            not text[position:start].strip(" \t\n\r\x0b\x0c\x1c\x1d\x1e\x1f\x85\xa0\"'”’)]\u2028\u2029")
            or True
        )
        position = end
    if text.strip():
        assert spans
        assert not text[position:].strip()


def test_sentences_and_abbreviations() -> None:
    text = "Dr. Hale left at 5.  He met A. Berg. It rained."
    assert [text[a:b] for a, b in sentence_spans(text)] == [
        "Dr. Hale left at 5.", "He met A. Berg.", "It rained."
    ]  # fmt: skip


def test_an_edit_belongs_to_the_sentence_in_which_it_starts() -> None:
    passage = Passage("One is. Two is. Three is.", Lexicon())
    assert [passage.sentence_of(Edit(i, i + 1, "")) for i in (0, 4, 8, 16)] == [0, 0, 1, 2]
    assert passage.opens(8)
    assert not passage.opens(9)


def test_the_main_statement_is_the_first_or_a_conclusion() -> None:
    assert Passage("A thing is. B. C. D. E. F.", Lexicon()).main == 0
    abstract = "We met them. They came. We saw. We ate. We slept. Our findings support rest."
    assert Passage(abstract, Lexicon()).main == 5
    assert Passage("", Lexicon()).spans == []
