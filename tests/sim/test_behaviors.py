from __future__ import annotations

import pytest

from core.errors import ConfigError
from sim.behaviors import BEHAVIORS, Behavior, open_behavior


@pytest.mark.parametrize("name", sorted(BEHAVIORS))
def test_every_behavior_has_the_face(name: str) -> None:
    behavior = open_behavior(name)
    assert isinstance(behavior, Behavior)
    assert isinstance(behavior.active(0), bool)
    assert behavior.name("source-01", 0) == "source-01"


def actives(spec: str, n: int) -> str:
    behavior = open_behavior(spec)
    return "".join(".X"[behavior.active(i)] for i in range(n))


def test_when_sources_attack() -> None:
    assert actives("steady", 4) == "XXXX"
    assert actives("sleeper", 27) == "." * 25 + "XX"
    assert actives("sleeper:3", 6) == "...XXX"
    assert actives("on-off", 16) == ".....XXXXX.....X"
    assert actives("on-off:2", 7) == "..XX..X"
    assert actives("whitewashing", 3) == "XXX"
    assert actives("duplicate-flood", 3) == "XXX"


def test_a_whitewasher_returns_under_new_names() -> None:
    behavior = open_behavior("whitewashing:3")
    names = [behavior.name("s", i) for i in range(9)]
    assert names == ["s"] * 3 + ["s-1"] * 3 + ["s-2"] * 3
    assert open_behavior("steady").name("s", 8) == "s"


def test_only_one_behavior_floods() -> None:
    assert [name for name in BEHAVIORS if open_behavior(name).flood] == ["duplicate-flood"]


@pytest.mark.parametrize(
    ("spec", "message"),
    [
        ("slepper", "unknown behavior 'slepper' .did you mean 'sleeper'"),
        ("sleeper:", "whole number of rounds above 0"),
        ("sleeper:0", "whole number of rounds above 0"),
        ("sleeper:x", "whole number of rounds above 0"),
        ("steady:4", "takes no number"),
    ],
)
def test_wrong_specs(spec: str, message: str) -> None:
    with pytest.raises(ConfigError, match=message):
        open_behavior(spec)
