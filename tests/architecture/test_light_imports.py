"""Importing a room is cheap: heavy libraries load when something needs them."""

from __future__ import annotations

import resource
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

HEAVY = (
    "torch",
    "torch_geometric",
    "ray",
    "transformers",
    "sentence_transformers",
    "sklearn",
    "openai",
    "faiss",
)


@pytest.mark.parametrize("room", ["protos", "core", "defenses", "source_node", "gnn", "aggregator", "sim"])
def test_a_room_imports_without_heavy_libraries(room: str, repository: Path) -> None:
    code = f"import sys, {room}; print(*[name for name in {HEAVY!r} if name in sys.modules])"
    run = subprocess.run(
        [sys.executable, "-c", code], cwd=repository, capture_output=True, text=True, check=True
    )
    assert run.stdout.strip() == ""


def test_help_is_quick() -> None:
    """Processor time, not the clock: other work on the machine must not decide."""
    scr = shutil.which("scr", path=str(Path(sys.executable).parent))
    assert scr is not None
    seconds = []
    for _ in range(5):
        before = resource.getrusage(resource.RUSAGE_CHILDREN)
        subprocess.run([scr, "--help"], check=True, capture_output=True)
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
        seconds.append(after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime)
    assert min(seconds) < 0.5
