from __future__ import annotations

import pytest

from core.config import parse
from core.errors import ConfigError
from sim.sweep.config import SweepConfig
from sim.sweep.presets import PRESETS, preset


def read(**values):
    return parse(SweepConfig, values, "test")


def test_every_combination_is_a_cell_and_attacks_vary_slowest():
    config = read(attack=["none", "saa"], defense=["none", "scr+tris"], seed=[0, 1], malicious=0.2)
    cells = config.settings()
    assert len(cells) == 8
    assert [place["attack"] for place, _ in cells] == ["none"] * 4 + ["saa"] * 4
    place, run = cells[-1]
    assert place == {
        "attack": "saa", "defense": "scr+tris", "malicious": 0.2, "dirichlet_alpha": 0.5,
        "replication": 1, "top_k": 5, "seed": 1,
    }  # fmt: skip
    assert run.defense == ("scr", "tris")
    assert (run.attack, run.seed, run.malicious, run.compare) == ("saa", 1, 0.2, False)


def test_stages_of_the_base_go_to_the_defenses_that_have_them():
    config = read(
        defense=[
            "none",
            "tris",
            {"name": "tris with L3", "settings": {"defense": ["tris"], "reader": "choice"}},
        ],
        base={"stages": {"tris": {"options": {"clusters": 2}}}},
    )
    none, plain, other = (run for _, run in config.settings())
    assert none.stages == {}
    assert plain.stages["tris"].options == {"clusters": 2}
    assert other.reader == "choice"
    assert plain.reader == "extractive"


def test_a_costly_place_gets_the_first_questions_and_seeds():
    costly = {"name": "costly", "settings": {"defense": ["tris"]}, "queries": 3, "seeds": 2}
    few = {"name": "few", "settings": {"attack": "saa"}, "queries": 4}
    given = {"attack": ["none", few], "defense": ["none", costly], "seed": [7, 8, 9]}
    found = [
        (place["attack"], place["defense"], place["seed"], run.queries)
        for place, run in read(**given, base={"queries": 5}).settings()
    ]
    assert found == [
        *(("none", "none", seed, 5) for seed in (7, 8, 9)),
        *(("none", "costly", seed, 3) for seed in (7, 8)),
        *(("few", "none", seed, 4) for seed in (7, 8, 9)),
        *(("few", "costly", seed, 3) for seed in (7, 8)),
    ]
    assert {run.queries for _, run in read(**given, base={"queries": 2}).settings()} == {2}
    assert max(run.queries for _, run in read(**given).settings()) == 50


@pytest.mark.parametrize(
    ("values", "message"),
    [
        ({"seed": [0, 0]}, "twice"),
        ({"top_k": []}, "no value"),
        ({"base": {"seed": 3}}, "axis"),
        ({"base": {"colour": 3}}, "no run has"),
        ({"attacks": ["none"]}, "unknown key"),
        ({"attack": [{"settings": {}}]}, "needs a name"),
    ],
)
def test_what_is_wrong_is_named(values, message):
    with pytest.raises(ConfigError, match=message):
        read(**values)


def test_a_combination_that_no_run_allows_is_named():
    with pytest.raises(ConfigError, match="cell saa / none"):
        read(attack=["saa"], defense=["none"], malicious=0.01).settings()


@pytest.mark.parametrize("name", PRESETS)
def test_presets_are_sweeps(name):
    assert len(read(**preset(name)).settings()) > 1


def test_an_unknown_preset_is_named():
    with pytest.raises(ConfigError, match="known: rivals"):
        preset("nothing")
