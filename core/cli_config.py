"""`--config FILE` for a command whose settings are its flags: the file's values become their defaults."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from core.config import read_yaml
from core.errors import ConfigError


def _take_defaults(context: typer.Context, path: Path | None) -> Path | None:
    if path is None:
        return None
    parameters = {parameter.name: parameter for parameter in context.command.params if parameter.name}
    known = sorted(parameters.keys() - {"config", "help"})
    defaults: dict[str, Any] = {}
    for key, value in read_yaml(path).items():
        name = str(key).replace("-", "_")
        if name not in known:
            raise ConfigError(f"{path}: unknown key {key!r}; known keys: {', '.join(known)}")
        if isinstance(value, dict) or isinstance(value, list) != bool(
            getattr(parameters[name], "multiple", False)
        ):
            wanted = "a list" if getattr(parameters[name], "multiple", False) else "one value"
            raise ConfigError(f"{path}: {key}: must be {wanted} (got {value!r:.80})")
        defaults[name] = value
    context.default_map = {**(context.default_map or {}), **defaults}
    return path


ConfigFile = Annotated[
    Path | None,
    typer.Option(
        "--config",
        metavar="FILE",
        is_eager=True,
        callback=_take_defaults,
        help="YAML of the flags' names as keys; flags override it.",
    ),
]
"""Type of a command's parameter `config`; give it the default None and leave it unread.

Keys are the flags without their dashes, `-` or `_` alike; a flag that may be repeated takes a list.
"""
