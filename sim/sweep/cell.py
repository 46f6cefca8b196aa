"""One cell of a sweep: a run's settings, their hash, and the file that holds what came of it."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from core.errors import StoreError
from core.paths import write_atomic
from sim.config import RunConfig

SCHEMA = 1
# what may differ between cells that ask the same questions of the same sources under the same attack
_OF_THE_DEFENSE = frozenset(
    {"defense", "stages", "reader", "reader_k", "all_filtered", "checkpoint", "llm", "llm_options"}
)


@dataclass(frozen=True)
class Cell:
    """`place`: the cell's names and numbers on the axes. `data`: hashes of the files that decide results."""

    place: Mapping[str, Any]
    config: RunConfig
    data: Mapping[str, str]
    timed: int

    @property
    def key(self) -> str:
        """Hash of everything that decides the cell; its file's name."""
        return _hash({"schema": SCHEMA, **self.config.identity(), **self.data, "timed": self.timed})

    @property
    def group(self) -> str:
        """Hash of everything but the defense: cells of one group share sources, attack and replies."""
        shared = {k: v for k, v in self.config.identity().items() if k not in _OF_THE_DEFENSE}
        return _hash({**shared, "data": self.data.get("data")})

    def path(self, folder: Path) -> Path:
        """Where the finished cell lies below the sweep's folder."""
        return folder / "cells" / f"{self.key}.json"

    def write(self, folder: Path, found: Mapping[str, Any]) -> None:
        """Write the finished cell whole."""
        content = {"schema": SCHEMA, "settings": self.config.as_json(), **found}
        write_atomic(self.path(folder), json.dumps(content, ensure_ascii=False) + "\n")


def read_cell(path: Path) -> dict[str, Any]:
    """A finished cell.

    Raises:
        StoreError: the file is unreadable or of another version.
    """
    try:
        found: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
        if found["schema"] != SCHEMA:
            raise ValueError(f"schema {found['schema']}, this version reads {SCHEMA}")
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise StoreError(f"{path}: not a cell of a sweep ({error}); delete it") from None
    return found


def _hash(value: Any) -> str:
    text = json.dumps(value, sort_keys=True, ensure_ascii=False)
    return hashlib.sha256(text.encode()).hexdigest()[:20]
