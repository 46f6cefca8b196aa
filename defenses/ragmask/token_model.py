"""What RAGMask can use of an embedder beyond vectors: its tokens, and their states before pooling."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from core.embedding.base import Embedder
from core.embedding.minilm import MiniLMEmbedder
from defenses.ragmask.segments import Span

_BATCH = 16


class TokenModel(Protocol):
    """The inside of a mean-pooling embedder."""

    def tokens(self, texts: Sequence[str]) -> list[list[Span]]:
        """(start, end) characters of each token that is read of each text, special tokens left out."""
        ...

    def states(self, texts: Sequence[str]) -> list[tuple[NDArray[np.float32], list[Span]]]:
        """For each text the (tokens, d) states that are averaged, and their spans ((0, 0): special)."""
        ...


def token_model(embedder: Embedder) -> TokenModel | None:
    """The inside of `embedder` where it is known (the packaged MiniLM, cached or not), else None."""
    inner = getattr(embedder, "inner", embedder)
    return _MiniLMTokens(inner) if isinstance(inner, MiniLMEmbedder) else None


class _MiniLMTokens:
    def __init__(self, embedder: MiniLMEmbedder) -> None:
        self._embedder = embedder

    def tokens(self, texts: Sequence[str]) -> list[list[Span]]:
        tokenizer, _ = self._embedder.load()
        return [
            [span for span, special in zip(e.offsets, e.special_tokens_mask, strict=True) if not special]
            for e in tokenizer.encode_batch(list(texts))
        ]

    def states(self, texts: Sequence[str]) -> list[tuple[NDArray[np.float32], list[Span]]]:
        import torch

        tokenizer, model = self._embedder.load()
        encodings = tokenizer.encode_batch(list(texts))
        found: list[tuple[NDArray[np.float32], list[Span]]] = [
            (np.empty((0, 0), np.float32), []) for _ in texts
        ]
        order = sorted(range(len(texts)), key=lambda i: len(encodings[i].ids))
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
                hidden = model(input_ids=ids, attention_mask=mask).last_hidden_state.float().numpy()
            for j, i in enumerate(rows):
                found[i] = (hidden[j, : len(encodings[i].ids)].copy(), list(encodings[i].offsets))
        return found
