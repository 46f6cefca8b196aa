"""Files that change while a server runs."""

from __future__ import annotations

import logging
from pathlib import Path

import pytest

from core.errors import ConfigError
from core.paths import write_atomic
from core.watched import Watched


def number(path: Path) -> int:
    try:
        return int(path.read_text())
    except (OSError, ValueError):
        raise ConfigError(f"{path}: not a number") from None


def test_a_change_is_seen_and_a_bad_one_is_not_taken(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    path = tmp_path / "n"
    path.write_text("1")
    watched = Watched([path], lambda: number(path), every_s=0)
    assert watched.get() == 1
    write_atomic(path, "2")
    assert watched.get() == 2
    write_atomic(path, "rubbish")
    with caplog.at_level(logging.ERROR):
        assert watched.get() == 2
        assert watched.get() == 2
    assert len(caplog.records) == 1
    path.unlink()
    assert watched.get() == 2
    write_atomic(path, "3")
    assert watched.get() == 3


def test_files_are_not_looked_at_more_often_than_asked(tmp_path: Path) -> None:
    path = tmp_path / "n"
    path.write_text("1")
    watched = Watched([path], lambda: number(path), every_s=3_600)
    write_atomic(path, "2")
    assert watched.get() == 1


def test_the_first_reading_must_succeed(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="not a number"):
        Watched([tmp_path / "n"], lambda: number(tmp_path / "n"))
