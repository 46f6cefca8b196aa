from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from core.errors import ConfigError
from sim.sweep.axes import Variant, attack_variant, defense_variant, split

NAMES = st.text("abcdefghij_-", min_size=1, max_size=8)


def test_an_attack_with_options():
    found = attack_variant("poisonedrag:per_source=1:prefix=false")
    assert found.name == "poisonedrag:per_source=1:prefix=false"
    assert found.settings == {"attack": "poisonedrag", "attack_option": {"per_source": 1, "prefix": False}}
    with pytest.raises(ConfigError, match="unknown"):
        attack_variant("poisonedrag:nothing=1")


@given(st.lists(NAMES, min_size=1, max_size=4), st.none() | NAMES)
def test_a_defense_is_stages_and_perhaps_a_reader(stages, reader):
    found = defense_variant("+".join(stages) + (f"@{reader}" if reader else ""))
    assert found.settings["defense"] == stages
    assert found.settings.get("reader") == reader


@pytest.mark.parametrize("text", ["", "scr+", "none@"])
def test_a_defense_that_names_nothing_is_an_error(text):
    with pytest.raises(ConfigError, match="STAGE"):
        defense_variant(text)


def test_flags_may_be_repeated_and_hold_several():
    assert split(["a, b", "c", ""]) == ["a", "b", "c"]


def test_a_variant_sets_only_keys_of_a_run():
    with pytest.raises(ValueError, match="no run has"):
        Variant(name="x", settings={"colour": "red"})
