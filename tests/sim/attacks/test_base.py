from __future__ import annotations

import pytest

from core.errors import ConfigError
from sim.attacks import ATTACKS
from sim.attacks.base import Attack, AttackContext, AttackOptions, open_attack, parse_options
from sim.attacks.view import view_of
from tests.sim.small_corpus import small_corpus

VIEW = view_of(small_corpus())


@pytest.mark.parametrize("name", sorted(ATTACKS))
def test_every_attack_has_the_face(name: str) -> None:
    attack = open_attack(name, AttackContext(VIEW, AttackOptions()))
    assert isinstance(attack, Attack)
    assert attack.kind in ("none", "inject", "tamper")
    assert attack.reads <= set(AttackOptions.model_fields)


def test_options_are_parsed_strictly() -> None:
    read = parse_options(["collude=false", "per_source=2", "length=matched", "edit-rate=0.2", "swap=true"])
    assert (read.collude, read.per_source, read.length, read.edit_rate, read.swap) == (
        False,
        2,
        "matched",
        0.2,
        True,
    )
    assert parse_options([]) == AttackOptions()
    assert parse_options(["per_source=none"]).per_source is None
    assert parse_options({"prefix": False}).prefix is False


@pytest.mark.parametrize(
    ("pair", "message"),
    [
        ("colude=false", "unknown key 'colude'; known keys: collude"),
        ("collude", "must be KEY=VALUE"),
        ("collude=perhaps", "attack options: collude: "),
        ("per_source=0", "attack options: per_source: "),
        ("length=long", "attack options: length: "),
        ("edit_rate=1.5", "attack options: edit_rate: "),
    ],
)
def test_wrong_options(pair: str, message: str) -> None:
    with pytest.raises(ConfigError, match=message):
        parse_options([pair])


def test_an_option_given_twice() -> None:
    with pytest.raises(ConfigError, match="'swap' is given twice"):
        parse_options(["swap=true", "swap=false"])


@pytest.mark.parametrize(
    ("attack", "options", "message"),
    [
        ("saa", {"swap": True}, "attack 'saa' has no option 'swap'; its options: collude"),
        ("saa", {"prefix": False}, "has no option 'prefix'"),
        ("poisonedrag", {"edit_rate": 0.2}, "has no option 'edit_rate'"),
        ("ata", {"length": "matched"}, "has no option 'length'"),
        ("ata", {"swap": True, "collude": False}, "collude must be true"),
        ("atta", {}, "unknown attack 'atta' .did you mean 'ata'"),
    ],
)
def test_options_that_an_attack_does_not_read(attack: str, options: dict[str, object], message: str) -> None:
    with pytest.raises(ConfigError, match=message):
        open_attack(attack, AttackContext(VIEW, AttackOptions(**options)))


def test_a_clean_run_takes_all_options() -> None:
    options = AttackOptions(prefix=False, length="matched", per_source=1, reword=True, edit_rate=0.5)
    assert open_attack("none", AttackContext(VIEW, options)).kind == "none"
