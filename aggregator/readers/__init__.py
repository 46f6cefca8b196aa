"""Readers by name: what turns the kept documents into an answer."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from core.errors import ConfigError
from core.registry import Registry

if TYPE_CHECKING:
    from core.embedding.base import Embedder
    from core.llm import LLM
    from core.reader import Reader

READERS = Registry(
    "reader",
    "securecollarag.readers",
    {
        "choice": "aggregator.readers.choice:ChoiceReader",
        "extractive": "aggregator.readers.extractive:ExtractiveReader",
        "openai": "aggregator.readers.generative:GenerativeReader",
        "reliabilityrag": "aggregator.readers.reliabilityrag:ReliabilityRagReader",
        "robustrag": "aggregator.readers.robustrag:RobustRagReader",
        "robustrag_decoding": "aggregator.readers.robust_decoding:RobustDecodingReader",
        "smollm2": "aggregator.readers.generative:GenerativeReader",
        "transformers": "aggregator.readers.generative:GenerativeReader",
        "trustrag": "aggregator.readers.trustrag:TrustRagReader",
    },
    extra="llm",
)
DEFAULT_LLM = "smollm2"


def reader_model(spec: str) -> str | None:
    """The back end that the reader `spec` asks, None for a reader without one.

    Raises:
        ConfigError: unknown reader.
    """
    from aggregator.llm import LLMS

    name, _, argument = spec.partition(":")
    if "llm" not in inspect.signature(READERS.get(name)).parameters:
        return None
    return spec if name in LLMS else argument or DEFAULT_LLM


def share_options(
    reader: str, llm: str | None, options: Mapping[str, Any]
) -> tuple[Mapping[str, Any], Mapping[str, Any]]:
    """`llm_options` of a configuration for the reader's model and for that of the stages.

    They are the reader's. The stages' model `llm` gets them where it is the same one, or where the reader
    has none.
    """
    model = reader_model(reader)
    stages = options if llm is not None and model in (None, llm) else {}
    return ({} if model is None and llm is not None else options), stages


def open_reader(
    spec: str,
    embedder: Embedder | None = None,
    llm_options: Mapping[str, Any] | None = None,
    *,
    cache_dir: str | Path | None = None,
    opening: Callable[[str, Mapping[str, Any] | None], LLM] | None = None,
) -> Reader:
    """The reader that `spec` names: `extractive`, `choice`, `smollm2`, `openai:MODEL`, or a plug-in.

    A factory is given what its parameters ask for: `embedder`, `llm` (a back end: the one that the
    spec names, as in `choice:transformers:PATH`, else SmolLM2) and `cache_dir`. `llm_options` go to
    that back end. `opening` makes it from its spec and options in place of `open_llm`.

    Raises:
        ConfigError: unknown reader, or one whose needs the deployment does not meet.
        MissingPackageError: a library or model that it needs is not installed.
    """
    from aggregator.llm import open_llm

    name, _, argument = spec.partition(":")
    factory = READERS.get(name)
    parameters = inspect.signature(factory).parameters
    given: dict[str, Any] = {}
    if "embedder" in parameters:
        if embedder is None:
            raise ConfigError(f"reader {name!r} needs an embedder and none is configured")
        given["embedder"] = embedder
    back_end = reader_model(spec)
    if back_end is not None:
        given["llm"] = (
            open_llm(back_end, llm_options, cache_dir=cache_dir)
            if opening is None
            else opening(back_end, llm_options)
        )
    elif argument:
        raise ConfigError(f"reader {name!r} takes no argument, so {spec!r} names none")
    elif llm_options:
        raise ConfigError(f"reader {name!r} uses no language model, so it takes no llm options")
    if "cache_dir" in parameters:
        given["cache_dir"] = cache_dir
    reader: Reader = factory(**given)
    return reader
