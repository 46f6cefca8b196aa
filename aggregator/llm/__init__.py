"""Language-model back ends by name; each is imported when it is first asked for."""

from __future__ import annotations

import inspect
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from core.errors import ConfigError
from core.registry import Registry

if TYPE_CHECKING:
    from core.llm import LLM

LLMS = Registry(
    "llm",
    "securecollarag.llms",
    {
        "openai": "aggregator.llm.openai_llm:OpenAILLM",
        "smollm2": "aggregator.llm.smollm2:SmolLM2",
        "transformers": "aggregator.llm.transformers_llm:TransformersLLM",
    },
    extra="llm",
)
_NEEDS_ARGUMENT = {"openai": "MODEL", "transformers": "FOLDER_OR_HUB_ID"}


def open_llm(
    spec: str, options: Mapping[str, Any] | None = None, *, cache_dir: str | Path | None = None
) -> LLM:
    """The back end that `spec` names: `smollm2`, `openai:MODEL`, `transformers:PATH` or a plug-in.

    `options` are the keyword arguments of the back end. A factory with a parameter `cache_dir` is
    given the cache folder. Weights load at the first call.

    Raises:
        ConfigError: unknown back end, missing argument or unknown option.
        MissingPackageError: a library or the packaged model is not installed.
    """
    name, _, argument = spec.partition(":")
    factory = LLMS.get(name)
    if not argument and name in _NEEDS_ARGUMENT:
        raise ConfigError(f"llm {name!r} must name its model: {name}:{_NEEDS_ARGUMENT[name]}")
    given = dict(options or {})
    parameters = inspect.signature(factory).parameters
    known = [key for key in parameters if key not in ("model", "cache_dir")]
    if not any(p.kind is p.VAR_KEYWORD for p in parameters.values()):
        for key in given:
            if key not in known:
                raise ConfigError(f"llm {name!r}: unknown option {key!r}; known: {', '.join(known)}")
    if "cache_dir" in parameters:
        given["cache_dir"] = cache_dir
    try:
        llm: LLM = factory(argument, **given) if argument else factory(**given)
    except TypeError as error:
        raise ConfigError(f"llm {name!r}: {error}") from None
    return llm
