from __future__ import annotations

from sim.attacks.wordlists import CLASSES, MEMBERS, NOT_NAMES, OPPOSITES


def test_opposites_lead_to_opposites() -> None:
    assert len(OPPOSITES) > 250
    for word, other in OPPOSITES.items():
        assert word != other
        assert other in OPPOSITES or word == "without"
        assert word == word.strip()


def test_every_class_has_something_to_exchange_and_no_member_is_in_two() -> None:
    assert all(len(set(members)) == len(members) >= 5 for members in MEMBERS.values())
    assert sum(len(members) for members in MEMBERS.values()) == len(CLASSES)
    assert not set(CLASSES) & NOT_NAMES
