"""The settings of one experiment: design 5.1's flags as one strict model."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any, Literal

from pydantic import Field, field_validator, model_validator

from core.config import StrictModel, dump, load, read_yaml
from core.stage import Hook
from sim.attacks.base import AttackOptions

UNDEFENDED = "none"
SINGLE_SOURCE = "ss-rag"
_NOT_IDENTITY = ("out", "cache_dir", "ray_address", "object_store_mb")


class StageSettings(StrictModel):
    """How one stage is set up: its own `options`, its place, and whether its failure refuses the question."""

    required: bool = False
    hook: Hook | None = None
    options: dict[str, Any] = Field(default_factory=dict)


class RunConfig(StrictModel):
    """What `scr sim run` does; keys are the flags with underscores.

    `documents` sizes the synthetic world and applies to it alone. `stages` sets up single stages by
    name and `all_filtered` says what happens where every document was dropped (YAML only, both).
    `llm_options` go to the reader's model, and to `llm`, that of the stages, where it is the same one or
    the reader has none. `compare` None means: where the reader needs no LLM. `malicious` is a share, rounded
    down to whole sources. `deadline` is in seconds, for a whole fan-out.
    """

    dataset: str = "synthetic"
    documents: int | None = Field(None, ge=1, le=10_000_000)
    queries_file: Path | None = None
    qrels: Path | None = None
    poison: Path | None = None
    queries: int = Field(50, ge=1)
    attack: str = "none"
    attack_option: AttackOptions = AttackOptions()
    behavior: str = "steady"
    defense: tuple[str, ...] = ("scr",)
    stages: dict[str, StageSettings] = Field(default_factory=dict)
    sources: int = Field(10, ge=1, le=10_000)
    malicious: float = Field(0.4, ge=0.0, le=1.0)
    dirichlet_alpha: float = Field(0.5, gt=0.0)
    replication: int = Field(1, ge=1)
    top_k: int = Field(5, ge=1, le=50)
    trials: int = Field(1, ge=1)
    rounds_warmup: int = Field(0, ge=0)
    reader: str = "extractive"
    reader_k: int = Field(5, ge=1, le=100)
    all_filtered: Literal["refuse", "unfiltered"] = "refuse"
    checkpoint: Path | None = None
    embedder: str = "minilm"
    retriever: str = "dense"
    deadline: float = Field(30.0, gt=0.0, le=600.0)
    llm: str | None = None
    llm_options: dict[str, Any] = Field(default_factory=dict)
    ray_address: str | None = None
    object_store_mb: int = Field(200, ge=80)
    seed: int = Field(0, ge=0)
    compare: bool | None = None
    out: Path | None = None
    cache_dir: Path | None = None

    @field_validator("defense", mode="before")
    @classmethod
    def _as_list(cls, value: Any) -> Any:
        return (value,) if isinstance(value, str) else value

    @field_validator("defense")
    @classmethod
    def _alone(cls, value: tuple[str, ...]) -> tuple[str, ...]:
        if not value:
            raise ValueError("name at least one defense, or 'none' for the undefended baseline")
        for name in (UNDEFENDED, SINGLE_SOURCE):
            if name in value and len(value) > 1:
                raise ValueError(f"{name!r} stands alone, it cannot be combined with other defenses")
        if len(set(value)) != len(value):
            raise ValueError("a defense is named twice")
        return value

    @model_validator(mode="after")
    def _consistent(self) -> RunConfig:
        if self.replication > self.sources:
            raise ValueError(f"replication {self.replication} needs at least as many sources")
        for name in self.stages:
            if name not in self.stage_names:
                raise ValueError(f"stages sets up {name!r}, which is not among the defenses")
        if self.documents is not None and self.dataset != "synthetic":
            raise ValueError("documents sizes the synthetic world and applies to dataset 'synthetic' only")
        if self.attacked and int(self.malicious * self.sources + 1e-9) == 0:
            raise ValueError(f"malicious {self.malicious} of {self.sources} sources is not even one attacker")
        if self.checkpoint is not None and "scr" not in self.stage_names:
            raise ValueError("checkpoint is read by the defense 'scr', which is not named")
        return self

    @property
    def attacked(self) -> bool:
        """Whether an attack is named."""
        return self.attack != "none"

    @property
    def stage_names(self) -> tuple[str, ...]:
        """The stages of the chosen defense, in order; empty for the two undefended baselines."""
        return () if self.defense[0] in (UNDEFENDED, SINGLE_SOURCE) else self.defense

    def as_json(self) -> dict[str, Any]:
        """Every setting as JSON values."""
        return self.model_dump(mode="json")

    def identity(self) -> dict[str, Any]:
        """The settings that decide the results: two runs of equal identity may share their rounds."""
        return {key: value for key, value in self.as_json().items() if key not in _NOT_IDENTITY}

    def as_yaml(self) -> str:
        """Every setting as YAML that `--config` takes."""
        return dump(self)


def resolve(config: RunConfig | None, path: Path | None, overrides: Mapping[str, Any]) -> RunConfig:
    """`config`, or the YAML at `path`, with `overrides` that are not None on top.

    An `attack_option` mapping is merged key by key, everything else is replaced.

    Raises:
        ConfigError: an unknown key or a value out of range, with its name.
    """
    base = config.model_dump(exclude_unset=True) if config is not None else {}
    given = {key: value for key, value in overrides.items() if value is not None}
    if "attack_option" in given:
        earlier = (read_yaml(path) if path is not None else base).get("attack_option") or {}
        if isinstance(earlier, Mapping) and isinstance(given["attack_option"], Mapping):
            given["attack_option"] = {**earlier, **given["attack_option"]}
    return load(RunConfig, path, {**base, **given})
