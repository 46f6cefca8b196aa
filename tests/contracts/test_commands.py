"""Every command of `scr`: it loads, helps with an example, and takes a config file and a seed."""

from __future__ import annotations

from collections.abc import Iterator
from importlib.metadata import entry_points
from typing import Any

import pytest
from typer.main import get_command

from core.cli import GROUP, main

ENTRIES = {entry.name: entry for entry in entry_points(group=GROUP)}


def _leaves(words: tuple[str, ...], command: Any) -> Iterator[tuple[tuple[str, ...], Any]]:
    if hasattr(command, "commands"):
        for name, inner in command.commands.items():
            yield from _leaves((*words, name), inner)
    else:
        yield words, command


LEAVES = [leaf for name, entry in ENTRIES.items() for leaf in _leaves((name,), get_command(entry.load()))]
TAKES_NOTHING_RANDOM = {("models", "list"), ("models", "get"), ("ask",)}


@pytest.mark.parametrize("words", [words for words, _ in LEAVES], ids=" ".join)
def test_help_shows_an_example(words: tuple[str, ...], capsys: pytest.CaptureFixture[str]) -> None:
    for flag in ("--help", "-h"):
        assert main([*words, flag]) == 0
        out = capsys.readouterr().out
        assert "Example" in out
        assert f"scr {' '.join(words)}" in " ".join(out.split())


@pytest.mark.parametrize(("words", "command"), LEAVES, ids=[" ".join(words) for words, _ in LEAVES])
def test_settings_come_from_a_file_and_a_seed(words: tuple[str, ...], command: Any) -> None:
    flags = {flag for parameter in command.params for flag in parameter.opts}
    if words not in TAKES_NOTHING_RANDOM:
        assert {"--config", "--seed"} <= flags


@pytest.mark.parametrize("words", [words for words, _ in LEAVES], ids=" ".join)
def test_a_wrong_flag_is_an_error_without_a_traceback(
    words: tuple[str, ...], capsys: pytest.CaptureFixture[str]
) -> None:
    assert main([*words, "--no-such-flag"]) == 2
    assert "no such option" in capsys.readouterr().err.lower()


def test_every_command_has_a_line_in_the_help(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["--help"]) == 0
    lines = capsys.readouterr().out.splitlines()
    for name in ENTRIES:
        (line,) = [line for line in lines if line.startswith(f"  {name} ")]
        assert len(line.split()) > 3
