from __future__ import annotations

from gnn.categories import DEFAULT_CATEGORIES


def test_every_category_has_a_description_of_its_own() -> None:
    assert len(set(DEFAULT_CATEGORIES.values())) == len(DEFAULT_CATEGORIES) >= 5
    assert all(text.endswith(".") for text in DEFAULT_CATEGORIES.values())
