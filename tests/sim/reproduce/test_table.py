from __future__ import annotations

import json

import pytest
import typer
from typer.testing import CliRunner

from core.errors import ConfigError
from sim.progress import Quiet
from sim.reproduce import REPRODUCTIONS
from sim.reproduce.cli import reproduce
from sim.reproduce.table import ReproduceOptions, Row, Table

APP = typer.Typer()
APP.command("reproduce")(reproduce)
APP.command("other")(lambda: None)


def run(*arguments: str):
    return CliRunner().invoke(APP, ["reproduce", *arguments], catch_exceptions=True)


def test_a_table_is_written_in_the_schema_and_printed(tmp_path) -> None:
    table = Table(
        "t-1",
        "somewhere, Table 1",
        {"p": 5},
        [Row({"a": 1}, 2.0, None, "%"), Row({"a": 2, "b": "x"}, None, 3.25, "%", (1.0, 4.0))],
        ["a note"],
    )
    written = json.loads(table.write(tmp_path).read_text(encoding="utf-8"))
    assert written == {
        "table": "t-1",
        "source": "somewhere, Table 1",
        "settings": {"p": 5},
        "rows": [
            {"key": {"a": 1}, "published": 2.0, "measured": None, "unit": "%"},
            {"key": {"a": 2, "b": "x"}, "published": None, "measured": 3.25, "unit": "%", "ci95": [1.0, 4.0]},
        ],
        "notes": ["a note"],
    }
    text = table.text()
    assert "p: 5" in text
    assert "a note" in text
    assert [line.split() for line in text.splitlines() if line.startswith(("1 ", "2 "))] == [
        ["1", "2", "-", "%"],
        ["2", "x", "-", "3.25", "1..4", "%"],
    ]


@pytest.mark.parametrize("name", ["ragpart-2", "ragpart-3", "ragpart-4", "ragpart-5"])
def test_every_cell_of_the_theory_agrees(name: str) -> None:
    table = REPRODUCTIONS.get(name)(ReproduceOptions(), Quiet())
    assert len(table.rows) == 91  # N = 3..15, k = 3..N
    assert all(row.published == row.measured for row in table.rows)
    assert "91 of 91 cells agree." in table.notes


def test_the_command_prints_and_writes(tmp_path) -> None:
    result = run("ragpart-3", "--out", str(tmp_path))
    assert result.exit_code == 0, result.output
    assert "91 of 91" in result.output
    assert json.loads((tmp_path / "ragpart-3.json").read_text())["table"] == "ragpart-3"


def test_without_a_table_the_names_are_listed() -> None:
    assert "ragpart-2" in run().output.split()


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["ragpart-99"], "unknown table 'ragpart-99'"),
        (["ragpart-2", "--set", "nonsense"], "must be KEY=VALUE"),
    ],
)
def test_mistakes_are_named(arguments: list[str], words: str) -> None:
    result = run(*arguments)
    assert isinstance(result.exception, ConfigError)
    assert words in str(result.exception)


def test_unknown_keys_of_a_config_are_named(tmp_path) -> None:
    path = tmp_path / "c.yaml"
    path.write_text("querys: 3\n")
    result = run("ragpart-2", "--config", str(path))
    assert isinstance(result.exception, ConfigError)
    assert "unknown key 'querys'" in str(result.exception)
