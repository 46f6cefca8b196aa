"""The axes of a sweep: how an attack or a defense is written, and what it changes of a run."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from pydantic import Field, model_validator

from core.config import StrictModel
from core.errors import ConfigError
from sim.attacks.base import parse_options
from sim.config import RunConfig


class Variant(StrictModel):
    """One place on an axis: its `name` in the table and the keys of a run that it sets.

    Written as a mapping in YAML; short forms are made of a text (`attack_variant`, `defense_variant`).
    `queries`, `seeds`: its cells ask at most so many of the sweep's questions, under the first so many of
    its seeds (None: all). What is costly gets fewer rounds that way, on questions that the others share.
    """

    name: str = Field(min_length=1, max_length=80)
    settings: dict[str, Any] = Field(default_factory=dict)
    queries: int | None = Field(default=None, ge=1)
    seeds: int | None = Field(default=None, ge=1)

    @model_validator(mode="after")
    def _known(self) -> Variant:
        unknown = sorted(self.settings.keys() - RunConfig.model_fields.keys())
        if unknown:
            raise ValueError(f"{self.name!r} sets {unknown[0]!r}, which no run has")
        return self


def attack_variant(text: str) -> Variant:
    """`NAME` or `NAME:KEY=VALUE:KEY=VALUE`, the options being those of `--attack-option`.

    Raises:
        ConfigError: an option that is unknown or wrong.
    """
    name, *options = text.split(":")
    settings: dict[str, Any] = {"attack": name.strip()}
    if options:
        settings["attack_option"] = parse_options(options).model_dump(mode="json", exclude_unset=True)
    return Variant(name=text.strip(), settings=settings)


def defense_variant(text: str) -> Variant:
    """`STAGE+STAGE@READER`: stages in order (or `none`, `ss-rag`), and a reader in place of the sweep's.

    Raises:
        ConfigError: no stage is named.
    """
    stages, sign, reader = text.partition("@")
    names = [name.strip() for name in stages.split("+")]
    if not all(names) or (sign and not reader.strip()):
        raise ConfigError(f"--defense {text!r} must be STAGE+STAGE, with @READER behind where one is meant")
    settings: dict[str, Any] = {"defense": names}
    if sign:
        settings["reader"] = reader.strip()
    return Variant(name=text.strip(), settings=settings)


def split(values: Iterable[str]) -> list[str]:
    """The entries of flags that may be repeated and may hold several behind commas."""
    return [entry.strip() for value in values for entry in value.split(",") if entry.strip()]


def variants(values: Sequence[Any], kind: str) -> list[Any]:
    """Texts among `values` as variants of `kind` (`attack` or `defense`); mappings are left for the model."""
    read = attack_variant if kind == "attack" else defense_variant
    found: list[Any] = []
    for value in values:
        if isinstance(value, str):
            found.append(read(value))
        elif isinstance(value, Mapping) and "name" not in value:
            raise ConfigError(f"an entry of {kind} that is a mapping needs a name")
        else:
            found.append(value)
    return found
