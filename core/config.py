"""Strict configuration: frozen models, unknown keys are errors, one line per problem."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, ClassVar, TypeVar, get_args

import yaml
from pydantic import BaseModel, ConfigDict, ValidationError

from core.errors import ConfigError


class StrictModel(BaseModel):
    """Base of every configuration model: frozen, no unknown keys, no NaN.

    A file of a model with `holds_secrets` is never quoted in an error: errors go to logs.
    """

    holds_secrets: ClassVar[bool] = False
    model_config = ConfigDict(extra="forbid", frozen=True, allow_inf_nan=False)


Model = TypeVar("Model", bound=StrictModel)


def parse(model: type[Model], values: Mapping[str, Any], where: str) -> Model:
    """`values` as a `model`; `where` names their origin in the error.

    Raises:
        ConfigError: one line with the path of the first wrong key and what would be right.
    """
    try:
        return model.model_validate(dict(values))
    except ValidationError as error:
        first = error.errors()[0]
        path = ".".join(str(part) for part in first["loc"])
        if first["type"] == "extra_forbidden":
            owner = _model_at(model, first["loc"][:-1])
            known = f"; known keys: {', '.join(sorted(owner.model_fields))}" if owner is not None else ""
            raise ConfigError(f"{where}: unknown key {path!r}{known}") from None
        if first["type"] == "missing":
            raise ConfigError(f"{where}: {path!r} is missing") from None
        message = first["msg"].removeprefix("Value error, ")
        if not first["loc"]:  # keys that do not go together: the message names them
            raise ConfigError(f"{where}: {message}") from None
        got = "" if model.holds_secrets else f" (got {first['input']!r:.80})"
        raise ConfigError(f"{where}: {path}: {message}{got}") from None


def _model_at(model: type[BaseModel], path: Sequence[int | str]) -> type[BaseModel] | None:
    """The model nested in `model` at `path`; None where a union or a custom type hides it."""
    for part in path:
        if isinstance(part, int):
            continue
        field = model.model_fields.get(part)
        if field is None:
            return None
        inner = [t for t in (field.annotation, *get_args(field.annotation)) if isinstance(t, type)]
        models = [t for t in inner if issubclass(t, BaseModel)]
        if len(models) != 1:
            return None
        model = models[0]
    return model


def read_yaml(path: Path) -> dict[str, Any]:
    """The mapping in the YAML file `path` (empty file: empty mapping).

    Raises:
        ConfigError: missing file, broken YAML (with its line), or not a mapping.
    """
    try:
        loaded = yaml.safe_load(path.read_text(encoding="utf-8"))
    except FileNotFoundError:
        raise ConfigError(f"{path}: no such config file") from None
    except (OSError, UnicodeDecodeError) as error:
        raise ConfigError(f"{path}: cannot be read: {error}") from None
    except yaml.YAMLError as error:
        mark = getattr(error, "problem_mark", None)
        line = f":{mark.line + 1}" if mark is not None else ""
        problem = getattr(error, "problem", None) or "not YAML"
        raise ConfigError(f"{path}{line}: {problem}") from None
    if loaded is None:
        return {}
    if not isinstance(loaded, dict):
        raise ConfigError(f"{path}: must be a mapping of keys, not {type(loaded).__name__}")
    return loaded


def load(model: type[Model], path: Path | None, overrides: Mapping[str, Any] | None = None) -> Model:
    """`model` from the YAML at `path` (None: nothing), with non-None `overrides` on top."""
    values = {} if path is None else read_yaml(path)
    given = {key: value for key, value in (overrides or {}).items() if value is not None}
    return parse(model, {**values, **given}, str(path) if path is not None else "command line")


def dump(model: StrictModel) -> str:
    """`model` as YAML, keys in declaration order."""
    return yaml.safe_dump(model.model_dump(mode="json"), sort_keys=False, allow_unicode=True)
