"""A causal language model in this process: loading, and forward passes over a key-value cache."""

from __future__ import annotations

import copy
import inspect
from collections import OrderedDict
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from core.embedding.minilm import bfloat16_is_fast
from core.errors import ConfigError, LLMError, MissingPackageError

PRECISIONS = ("auto", "bfloat16", "float32")
_PREFIXES = 4


class LocalModel:
    """A tokenizer and a model that share one cache of prompt prefixes.

    A prefix (the tokens of a system message) is computed once and its keys and values are copied for
    each prompt that begins with it. The split between prefix and rest is the caller's and never
    depends on earlier prompts, so the same prompt always runs the same chunks: same input, same bits.

    Args:
        tokenizer: a transformers tokenizer.
        model: a transformers causal language model in evaluation mode.
        threads: torch threads during a pass; None leaves the process's number.
    """

    def __init__(self, tokenizer: Any, model: Any, threads: int | None) -> None:
        self.tokenizer = tokenizer
        self.model = model
        self.max_context = int(getattr(model.config, "max_position_embeddings", 4096))
        self._threads = threads
        # transformers 5.2x renamed the argument; both names are in use among the versions we allow
        names = inspect.signature(model.forward).parameters
        self._cache_key = "cache" if "cache" in names else "past_key_values"
        self._prefixes: OrderedDict[tuple[int, ...], Any] = OrderedDict()

    @property
    def stop_ids(self) -> frozenset[int]:
        """Tokens that end an answer."""
        ids = getattr(self.model.generation_config, "eos_token_id", None)
        if ids is None:
            ids = self.tokenizer.eos_token_id
        return frozenset([ids] if isinstance(ids, int) else ids or [])

    def encode(self, text: str) -> list[int]:
        """Tokens of `text`, special tokens only where the text spells them."""
        ids: list[int] = self.tokenizer(text, add_special_tokens=False).input_ids
        return ids

    @contextmanager
    def session(self) -> Iterator[None]:
        """Inference mode with this model's number of threads."""
        import torch

        before = torch.get_num_threads()
        if self._threads is not None:
            torch.set_num_threads(self._threads)
        try:
            with torch.inference_mode():
                yield
        finally:
            torch.set_num_threads(before)

    def forward(self, rows: Sequence[Sequence[int]], cache: Any, **options: Any) -> Any:
        """Run `rows` (equal lengths) after `cache`, which grows by them; returns the model's output."""
        import torch

        ids = torch.tensor(rows, dtype=torch.long, device=self.model.device)
        return self.model(ids, use_cache=True, **{self._cache_key: cache}, **options)

    def prefill(self, prefix: Sequence[int], rest: Sequence[int]) -> tuple[Any, Any]:
        """Keys and values of `prefix` + `rest` (not empty), and the last position's logits (vocabulary,).

        Raises:
            LLMError: the prompt does not fit the model's context.
        """
        if len(prefix) + len(rest) > self.max_context:
            raise LLMError(
                f"prompt of {len(prefix) + len(rest)} tokens is longer than the model's context "
                f"({self.max_context})"
            )
        cache = self._prefix(tuple(prefix))
        output = self.forward([list(rest)], cache, logits_to_keep=1)
        return cache, output.logits[0, -1].float()

    def _prefix(self, prefix: tuple[int, ...]) -> Any:
        from transformers import DynamicCache

        if not prefix:
            return DynamicCache()
        if prefix not in self._prefixes:
            cache = DynamicCache()
            self.forward([list(prefix)], cache, logits_to_keep=1)
            self._prefixes[prefix] = cache
            while len(self._prefixes) > _PREFIXES:
                self._prefixes.popitem(last=False)
        self._prefixes.move_to_end(prefix)
        return copy.deepcopy(self._prefixes[prefix])


def load_local(model: str | Path, gguf_file: str | None, precision: str, threads: int | None) -> LocalModel:
    """The model in folder (or under hub id) `model`, on the best device that this machine has.

    Raises:
        ConfigError: unknown precision.
        MissingPackageError: torch or transformers is not installed.
        LLMError: it cannot be loaded.
    """
    if precision not in PRECISIONS:
        raise ConfigError(f"precision must be one of {', '.join(PRECISIONS)}, not {precision!r}")
    try:
        import torch
        from transformers import AutoModelForCausalLM, AutoTokenizer
        from transformers.utils import logging as transformers_logging
    except ModuleNotFoundError as error:
        raise MissingPackageError(
            f"a local language model needs the package {error.name!r}: pip install 'securecollarag[llm]'"
        ) from error
    transformers_logging.disable_progress_bar()
    accelerator = _accelerator()
    half = precision == "bfloat16" or (
        precision == "auto" and (accelerator is not None or bfloat16_is_fast())
    )
    extra = {} if gguf_file is None else {"gguf_file": gguf_file}
    dense = {} if gguf_file is None else _dense()
    try:
        tokenizer = AutoTokenizer.from_pretrained(str(model), **extra)
        loaded = AutoModelForCausalLM.from_pretrained(
            str(model), dtype=torch.bfloat16 if half else torch.float32, **extra, **dense
        )
    except (OSError, ValueError, ImportError) as error:
        line = str(error).strip().splitlines() or [type(error).__name__]
        raise LLMError(f"cannot load {str(model)!r} as a causal language model: {line[0]}") from None
    if accelerator is not None:
        loaded = loaded.to(accelerator)
    return LocalModel(tokenizer, loaded.eval(), threads)


def _accelerator() -> Any:
    """The accelerator of this machine, or None for its CPU."""
    import torch

    found = getattr(torch, "accelerator", None)
    return found.current_accelerator() if found is not None and found.is_available() else None


def _dense() -> dict[str, Any]:
    """Arguments that make transformers unpack a GGUF file (older versions always do)."""
    try:
        from transformers import GgufConfig
    except ImportError:
        return {}
    return {"quantization_config": GgufConfig(dequantize=True)}
