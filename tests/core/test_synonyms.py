from __future__ import annotations

from core.synonyms import PHRASES, WORDS
from sim.attacks.numbers import NUMBER_WORDS
from sim.attacks.wordlists import CLASSES, OPPOSITES


def test_hundreds_of_words_and_none_is_its_own_synonym() -> None:
    assert len(WORDS) > 300
    for word, others in WORDS.items():
        assert others
        assert word not in others
        assert all(other.strip() and other.islower() for other in others)


def test_no_synonym_is_an_opposite_and_no_number_or_member_is_exchanged() -> None:
    for word, others in WORDS.items():
        assert OPPOSITES.get(word) not in others
        assert word not in NUMBER_WORDS
        assert not any(other in CLASSES and CLASSES[other] == CLASSES.get(word) for other in others)


def test_phrases_hold_no_negation_and_longer_ones_come_first() -> None:
    lengths = [len(form) for form, _ in PHRASES]
    assert lengths == sorted(lengths, reverse=True)
    for form, others in PHRASES:
        for text in (form, *others):
            assert not {"not", "no", "never", "without"} & set(text.split())
        assert form not in others
