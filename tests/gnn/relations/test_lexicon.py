from __future__ import annotations

from gnn.relations.lexicon import ANTONYMS, DOWN, MONTHS, NUMBER_WORDS, ORDER, SCALES, UNITS, UP


def test_opposites_go_both_ways_and_never_to_the_word_itself() -> None:
    for word, others in ANTONYMS.items():
        assert word not in others
        assert all(word in ANTONYMS[other] for other in others)


def test_entries_are_lower_case_words() -> None:
    for table in (ANTONYMS, UP, DOWN, MONTHS, NUMBER_WORDS, ORDER, SCALES, UNITS):
        assert all(entry == entry.lower() and " " not in entry for entry in table)


def test_numbers_and_order_have_the_values_that_comparison_takes() -> None:
    assert NUMBER_WORDS["twelve"] == 12
    assert SCALES["million"] == 1e6
    assert set(ORDER.values()) == {1, -1}
    assert len(MONTHS) == 12
