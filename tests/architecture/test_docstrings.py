"""Every module says what it is, and stays small enough to be one concept."""

from __future__ import annotations

import ast
from pathlib import Path

ROOMS = ("core", "defenses", "source_node", "gnn", "aggregator", "sim")
MOST_LINES = 350


def _modules(repository: Path) -> list[Path]:
    return [path for room in ROOMS for path in sorted((repository / room).rglob("*.py"))]


def test_every_public_module_has_a_docstring(repository: Path) -> None:
    modules = _modules(repository)
    assert len(modules) > 20
    silent = [
        str(path.relative_to(repository))
        for path in modules
        if (path.name == "__init__.py" or not path.name.startswith("_"))
        and not ast.get_docstring(ast.parse(path.read_text(encoding="utf-8")))
    ]
    assert silent == []


def test_no_module_outgrows_one_concept(repository: Path) -> None:
    long = {
        str(path.relative_to(repository)): lines
        for path in _modules(repository)
        if (lines := len(path.read_text(encoding="utf-8").splitlines())) > MOST_LINES
    }
    assert long == {}
