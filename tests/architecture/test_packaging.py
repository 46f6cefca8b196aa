"""What pip builds from a clean clone is whole: every module, and the files that code reads."""

from __future__ import annotations

import subprocess
import sys
import zipfile
from pathlib import Path

import pytest


def _tracked(repository: Path) -> list[str]:
    run = subprocess.run(
        ["git", "ls-files", "-z"], cwd=repository, capture_output=True, text=True, check=True
    )
    return [name for name in run.stdout.split("\0") if name]


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> set[str]:
    """Names in the wheel that is built from the tracked files of the checkout."""
    repository = Path(__file__).resolve().parents[2]
    source = tmp_path_factory.mktemp("source")
    for name in _tracked(repository):
        origin = repository / name
        if not name.startswith("tests/") and origin.is_file():
            (source / name).parent.mkdir(parents=True, exist_ok=True)
            (source / name).write_bytes(origin.read_bytes())
    out = tmp_path_factory.mktemp("wheel")
    pip = [sys.executable, "-m", "pip", "wheel", "-qq", "--no-deps", "--no-build-isolation", "--no-index"]
    done = subprocess.run([*pip, "-w", str(out), str(source)], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    (built,) = out.glob("*.whl")
    with zipfile.ZipFile(built) as archive:
        return set(archive.namelist())


def test_the_wheel_holds_every_module_and_data_file(wheel: set[str], repository: Path) -> None:
    rooms = ("protos", "core", "defenses", "source_node", "gnn", "aggregator", "sim")
    needed = {
        name
        for name in _tracked(repository)
        if name.split("/")[0] in rooms and "/" in name and (repository / name).is_file()
    }
    assert needed - wheel == set()


def test_the_wheel_holds_nothing_else(wheel: set[str]) -> None:
    tops = {name.split("/")[0] for name in wheel if ".dist-info/" not in name}
    assert tops == {"protos", "core", "defenses", "source_node", "gnn", "aggregator", "sim"}


def test_every_constraint_is_one_pin(repository: Path) -> None:
    lines = [line for line in (repository / "constraints.txt").read_text().splitlines() if line[:1] != "#"]
    names = [line.split("==")[0].lower().replace("_", "-") for line in lines]
    assert all(line.count("==") == 1 for line in lines)
    assert len(set(names)) == len(names)
