from __future__ import annotations

from pathlib import Path

import pytest

from aggregator.roster import Listed, Roster
from core.errors import StoreError

CONFIGURED = {"a": "h:1", "b": "h:2"}


def test_changes_lie_on_top_of_the_configuration_and_outlive_the_process(tmp_path: Path) -> None:
    path = tmp_path / "state.sqlite"
    roster = Roster(path)
    assert roster.apply(CONFIGURED) == {"a": Listed("h:1"), "b": Listed("h:2")}
    roster.note("c", "active", "h:3")
    roster.note("a", "drained")
    roster.note("b", "removed")
    roster.close()
    again = Roster(path)
    assert again.persistent
    assert again.apply(CONFIGURED) == {"a": Listed("h:1", drained=True), "c": Listed("h:3")}
    again.note("b", "active", "h:9")
    again.note("c", "drained")
    assert again.apply(CONFIGURED)["b"] == Listed("h:9")
    assert again.apply(CONFIGURED)["c"] == Listed("h:3", drained=True)
    assert again.apply({}) == {"b": Listed("h:9"), "c": Listed("h:3", drained=True)}
    again.close()


def test_in_memory() -> None:
    roster = Roster()
    assert not roster.persistent
    roster.note("a", "removed")
    assert roster.apply(CONFIGURED) == {"b": Listed("h:2")}


def test_another_file_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "state.sqlite"
    path.write_bytes(b"no database, but long enough to look like one " * 50)
    with pytest.raises(StoreError, match="not a usable roster"):
        Roster(path)
