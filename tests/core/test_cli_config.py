from __future__ import annotations

from pathlib import Path
from typing import Annotated

import pytest
import typer

from core.cli_config import ConfigFile
from core.errors import ConfigError

app = typer.Typer(add_completion=False)


@app.command()
def work(
    out: Annotated[Path, typer.Option()],
    data_set: Annotated[list[str], typer.Option("--data-set")] = ["synthetic"],  # noqa: B006
    rounds: Annotated[int, typer.Option(min=1)] = 3,
    single: Annotated[bool, typer.Option()] = True,
    config: ConfigFile = None,
) -> None:
    """Work."""
    typer.echo(f"{out} {data_set} {rounds} {single}")


def call(*arguments: str) -> None:
    app(args=list(arguments), standalone_mode=False)


def test_values_of_the_file_are_defaults(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "c.yaml"
    path.write_text("out: o\ndata-set: [a, b]\nrounds: 5\nsingle: false\n")
    call("--config", str(path))
    assert capsys.readouterr().out == "o ['a', 'b'] 5 False\n"
    call("--rounds", "7", "--config", str(path), "--data-set", "c")
    assert capsys.readouterr().out == "o ['c'] 7 False\n"
    call("--out", "p")
    assert capsys.readouterr().out == "p ['synthetic'] 3 True\n"


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("ruonds: 5", "unknown key 'ruonds'; known keys: data_set, out, rounds, single"),
        ("config: x", "unknown key 'config'"),
        ("data_set: a", "data_set: must be a list"),
        ("rounds: [1]", "rounds: must be one value"),
        ("rounds: {a: 1}", "rounds: must be one value"),
    ],
)
def test_a_wrong_key_is_one_line(tmp_path: Path, content: str, message: str) -> None:
    path = tmp_path / "c.yaml"
    path.write_text(content)
    with pytest.raises(ConfigError, match=message):
        call("--out", "o", "--config", str(path))


def test_a_wrong_value_is_refused_like_a_flag(tmp_path: Path) -> None:
    path = tmp_path / "c.yaml"
    path.write_text("rounds: 0")
    with pytest.raises(Exception, match="1") as caught:
        call("--out", "o", "--config", str(path))
    assert hasattr(caught.value, "exit_code")
