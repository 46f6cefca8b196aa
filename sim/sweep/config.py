"""What a sweep covers: axes, and the settings that all its cells share."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import product
from pathlib import Path
from typing import Any

from pydantic import Field, field_validator, model_validator

from core.config import StrictModel, parse
from sim.config import RunConfig
from sim.sweep.axes import Variant, variants

NUMERIC = ("malicious", "dirichlet_alpha", "replication", "top_k", "seed")
AXES = ("attack", "defense", *NUMERIC)
_NOT_BASE = (*AXES, "out", "ray_address", "object_store_mb", "cache_dir", "compare")


class SweepConfig(StrictModel):
    """Keys of the YAML that `scr sim sweep --config` takes.

    Every combination of the axes is a cell; an axis that is not given has the one value of `scr sim run`.
    `base`: any other key of a run (dataset, queries, reader, ...). `workers`: cells are worked on in so
    many processes (None: one for each processor; 1 starts no Ray). `timed`: rounds of each cell on which
    its cost is measured, after the others.
    """

    attack: tuple[Variant, ...] = (Variant(name="none", settings={"attack": "none"}),)
    defense: tuple[Variant, ...] = (Variant(name="scr", settings={"defense": ["scr"]}),)
    malicious: tuple[float, ...] = (0.4,)
    dirichlet_alpha: tuple[float, ...] = (0.5,)
    replication: tuple[int, ...] = (1,)
    top_k: tuple[int, ...] = (5,)
    seed: tuple[int, ...] = (0,)
    base: dict[str, Any] = Field(default_factory=dict)
    timed: int = Field(5, ge=1)
    workers: int | None = Field(None, ge=1, le=256)
    cache_dir: Path | None = None

    @field_validator("attack", "defense", mode="before")
    @classmethod
    def _variants(cls, value: Any, info: Any) -> Any:
        if isinstance(value, str):
            value = [value]
        return variants(value, info.field_name) if isinstance(value, Sequence) else value

    @field_validator(*NUMERIC, mode="before")
    @classmethod
    def _as_list(cls, value: Any) -> Any:
        return value if isinstance(value, list | tuple) else [value]

    @model_validator(mode="after")
    def _distinct(self) -> SweepConfig:
        for axis in AXES:
            values = [v.name if isinstance(v, Variant) else v for v in getattr(self, axis)]
            if not values:
                raise ValueError(f"{axis} has no value")
            if len(set(values)) != len(values):
                raise ValueError(f"{axis} has a value twice")
        for key in self.base:
            if key in _NOT_BASE:
                raise ValueError(f"base cannot set {key!r}: it is an axis, or belongs to a single run")
            if key not in RunConfig.model_fields:
                raise ValueError(f"base sets {key!r}, which no run has")
        return self

    def settings(self) -> list[tuple[dict[str, Any], RunConfig]]:
        """The cells: place on the axes by name, and the run that it stands for; attacks vary slowest.

        Raises:
            ConfigError: a combination that no run allows.
        """
        found = []
        for attack, defense, *numbers in product(*(getattr(self, axis) for axis in AXES)):
            place = dict(zip(NUMERIC, numbers, strict=True))
            if self.seed.index(place["seed"]) >= min(v.seeds or len(self.seed) for v in (attack, defense)):
                continue
            given = {**self.base, **attack.settings, **place, "compare": False}
            given = {**given, **_joined(given, defense.settings)}
            if most := [v.queries for v in (attack, defense) if v.queries is not None]:
                given["queries"] = min(*most, given.get("queries", RunConfig.model_fields["queries"].default))
            where = f"cell {attack.name} / {defense.name}"
            found.append(
                ({"attack": attack.name, "defense": defense.name, **place}, parse(RunConfig, given, where))
            )
        return found


def _joined(given: Mapping[str, Any], defense: Mapping[str, Any]) -> dict[str, Any]:
    """A defense's settings; of the base's `stages` only those that this defense names."""
    names = defense.get("defense", ())
    names = [names] if isinstance(names, str) else names
    stages = {name: setting for name, setting in given.get("stages", {}).items() if name in names}
    joined = {**defense, "stages": {**stages, **defense.get("stages", {})}}
    if "scr" not in names and "checkpoint" in given:
        joined["checkpoint"] = None
    return joined
