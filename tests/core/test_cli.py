"""Dispatch of `scr`: commands arrive by entry point, errors are one line, exit codes tell."""

from __future__ import annotations

import sys
from importlib.metadata import EntryPoint
from pathlib import Path

import pytest

from core import cli
from core.errors import ConfigError

COMMAND = '''"""Works on a number."""
import typer
from core.errors import ConfigError

app = typer.Typer()

@app.command()
def work(number: int = 1) -> None:
    if number == 13:
        raise ConfigError("number: 13 brings\\n bad luck")
    if number == 14:
        raise KeyboardInterrupt
    if number == 15:
        raise typer.Exit(3)
    if number == 16:
        raise typer.Abort
    if number == 17:
        raise RuntimeError("a bug")
    typer.echo(f"worked {number}")
'''


@pytest.fixture(autouse=True)
def commands(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    (tmp_path / "cli_under_test.py").write_text(COMMAND)
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.delitem(sys.modules, "cli_under_test", raising=False)
    found = [
        EntryPoint("work", "cli_under_test:app", cli.GROUP),
        EntryPoint("gone", "no_such_library_here:app", cli.GROUP),
        EntryPoint("moved", "core.not_there:app", cli.GROUP),
        EntryPoint("seeding", "core.seeding:app", cli.GROUP),
        EntryPoint("room", "core.embedding:app", cli.GROUP),
    ]
    monkeypatch.setattr(cli, "entry_points", lambda group: found)


@pytest.mark.parametrize(
    ("arguments", "status", "out", "err"),
    [
        (["work"], 0, "worked 1", ""),
        (["work", "--number", "2"], 0, "worked 2", ""),
        (["-v", "work"], 0, "worked 1", ""),
        (["work", "--number", "13"], 2, "", "scr: number: 13 brings bad luck\n"),
        (["work", "--number", "14"], 130, "", "scr: interrupted\n"),
        (["work", "--number", "15"], 3, "", ""),
        (["work", "--number", "16"], 130, "", "scr: interrupted\n"),
        (["work", "--number", "x"], 2, "", "Invalid value for '--number'"),
        (["work", "--nmber", "1"], 2, "", "No such option"),
        (["work", "--help"], 0, "Usage: scr work", ""),
        (
            ["wrok"],
            2,
            "",
            "scr: no such command 'wrok' (did you mean 'work'?); known: gone, moved, room, seeding, work\n",
        ),
        (["--wrong"], 2, "", "scr: no such option: --wrong (see scr --help)\n"),
        (["gone"], 2, "", "scr: scr gone needs the package 'no_such_library_here'"),
        (
            ["moved"],
            2,
            "",
            "scr: scr moved is registered as 'core.not_there', but there is no 'core.not_there'",
        ),
        (["--version"], 0, "scr 0.", ""),
    ],
)
def test_dispatch(
    arguments: list[str], status: int, out: str, err: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert cli.main(arguments) == status
    captured = capsys.readouterr()
    assert out in captured.out
    assert err in captured.err
    assert "Traceback" not in captured.err
    if not err:
        assert captured.err == ""


@pytest.mark.parametrize("arguments", [["--help"], ["-h"]])
def test_help_lists_commands_without_importing_them(
    arguments: list[str], capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(EntryPoint, "load", lambda self: pytest.fail("help imported a command"))
    assert cli.main(arguments) == 0
    out = capsys.readouterr().out
    assert "  seeding  One seed, many independent streams" in out
    assert "  work     Works on a number.\n" in out
    assert "  room     Embedders by name" in out
    assert "  gone\n" in out


def test_no_command_shows_help_and_fails(capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.main([]) == 2
    assert "Usage: scr" in capsys.readouterr().out


def test_debug_shows_the_traceback_of_an_error() -> None:
    with pytest.raises(ConfigError):
        cli.main(["--debug", "work", "--number", "13"])
    with pytest.raises(ConfigError):
        cli.main(["work", "--number", "13", "--debug"])


def test_a_bug_is_not_hidden() -> None:
    with pytest.raises(RuntimeError, match="a bug"):
        cli.main(["work", "--number", "17"])


def test_run_exits_with_the_status(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "argv", ["scr", "work", "--number", "15"])
    with pytest.raises(SystemExit) as caught:
        cli.run()
    assert caught.value.code == 3
