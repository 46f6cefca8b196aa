"""A published table beside what is measured here (design 5.1, `scr sim reproduce`)."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from pydantic import Field

from core.config import StrictModel
from core.paths import write_atomic

Key = Mapping[str, str | int | float]


class ReproduceOptions(StrictModel):
    """What `scr sim reproduce` was asked with.

    `dataset` is a BEIR-style folder (None: the table needs no data, or its own default). `queries` and
    `documents` bound questions and corpus (None: what ends within minutes). `full` is the paper's
    size, which may take hours. `setting` holds a table's own settings, checked by the table.
    """

    dataset: str | None = None
    queries_file: Path | None = None
    qrels: Path | None = None
    poison: Path | None = None
    queries: int | None = Field(default=None, ge=1)
    documents: int | None = Field(default=None, ge=1)
    embedder: str = "minilm"
    llm: str | None = None
    seed: int = Field(default=0, ge=0)
    full: bool = False
    cache_dir: Path | None = None
    setting: dict[str, Any] = Field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Row:
    """One cell: `published` or `measured` is None where the paper or this run has no value."""

    key: Key
    published: float | None
    measured: float | None
    unit: str
    ci95: tuple[float, float] | None = None

    def as_json(self) -> dict[str, Any]:
        """The row of the schema; `ci95` only where it was measured."""
        row: dict[str, Any] = {
            "key": dict(self.key),
            "published": self.published,
            "measured": self.measured,
            "unit": self.unit,
        }
        return row if self.ci95 is None else {**row, "ci95": list(self.ci95)}


@dataclass(frozen=True)
class Table:
    """A table: where its figures were published, under which settings they were measured here, and what
    a reader must know to compare the two (`notes`, one sentence each).
    """

    table: str
    source: str
    settings: Mapping[str, Any]
    rows: Sequence[Row]
    notes: Sequence[str] = field(default_factory=tuple)

    def as_json(self) -> dict[str, Any]:
        """The table in the schema of design 5.1."""
        return {
            "table": self.table,
            "source": self.source,
            "settings": dict(self.settings),
            "rows": [row.as_json() for row in self.rows],
            "notes": list(self.notes),
        }

    def write(self, folder: Path) -> Path:
        """Write `folder/TABLE.json`; returns its path."""
        path = folder / f"{self.table}.json"
        write_atomic(path, json.dumps(self.as_json(), indent=2, ensure_ascii=False) + "\n")
        return path

    def text(self) -> str:
        """Published beside measured, for a terminal."""
        names = list(dict.fromkeys(name for row in self.rows for name in row.key))
        lines = [[*names, "published", "measured", "95 %", "unit"]]
        for row in self.rows:
            interval = "" if row.ci95 is None else f"{_number(row.ci95[0])}..{_number(row.ci95[1])}"
            cells = [str(row.key.get(name, "")) for name in names]
            lines.append([*cells, _number(row.published), _number(row.measured), interval, row.unit])
        widths = [max(len(line[i]) for line in lines) for i in range(len(lines[0]))]
        body = ["  ".join(c.ljust(w) for c, w in zip(line, widths, strict=True)).rstrip() for line in lines]
        settings = [f"  {name}: {value}" for name, value in self.settings.items()]
        notes = [f"  - {note}" for note in self.notes]
        parts = [f"{self.table}: {self.source}", *settings, "", *body]
        return "\n".join([*parts, "", *notes] if notes else parts)


def _number(value: float | None) -> str:
    return "-" if value is None else f"{value:.4g}"
