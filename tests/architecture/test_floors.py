"""Imports run downwards only: import-linter's contracts, with every package on a floor."""

from __future__ import annotations

import re
import subprocess
import sys
import tomllib
from pathlib import Path


def test_import_contracts_hold(repository: Path, tmp_path: Path) -> None:
    code = "from importlinter.cli import lint_imports_command as lint; lint()"
    run = subprocess.run(
        [sys.executable, "-c", code, "--cache-dir", str(tmp_path)],
        cwd=repository,
        capture_output=True,
        text=True,
    )
    assert run.returncode == 0, run.stdout + run.stderr
    assert re.search(r"[1-9]\d* kept, 0 broken", run.stdout)


def test_every_package_stands_on_a_floor(repository: Path) -> None:
    settings = tomllib.loads((repository / "pyproject.toml").read_text())["tool"]
    packages = {p.parent.name for p in repository.glob("*/__init__.py")} - {"tests"}
    assert packages == set(settings["importlinter"]["root_packages"])
    layers = settings["importlinter"]["contracts"][0]["layers"]
    assert packages == {room.strip() for layer in layers for room in layer.split("|")}
    assert packages == {p.removesuffix("*") for p in settings["setuptools"]["packages"]["find"]["include"]}
    assert packages - {"protos"} == set(settings["mypy"]["packages"])
