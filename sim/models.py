"""The language models of a run: the reader's and the stages'."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from aggregator.llm import open_llm
from aggregator.readers import open_reader, share_options
from core.embedding.base import Embedder
from core.llm import LLM
from core.reader import Reader
from sim.config import RunConfig

Opening = Callable[[str, Mapping[str, Any] | None], LLM]


def run_reader(
    config: RunConfig, embedder: Embedder, cache: str | Path | None = None, opening: Opening | None = None
) -> Reader:
    """The reader of a run; `opening` makes its model in place of `open_llm`.

    Raises:
        ConfigError: unknown reader, or one whose needs its model does not meet.
        MissingPackageError: a library or model that it needs is not installed.
    """
    options, _ = share_options(config.reader, config.llm, config.llm_options)
    folder = config.cache_dir if cache is None else cache
    return open_reader(config.reader, embedder, options, cache_dir=folder, opening=opening)


def stage_model(config: RunConfig, opening: Opening | None = None) -> LLM | None:
    """The model of a run's stages, None where `llm` names none.

    Raises:
        ConfigError: unknown back end or option.
    """
    _, options = share_options(config.reader, config.llm, config.llm_options)
    return None if config.llm is None else (opening or open_llm)(config.llm, options)
