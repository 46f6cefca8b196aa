"""What a white-box attacker sees of the packaged embedder: tokens, exact scores, and gradients.

A poison is a list of token ids of which some places are slots that the attacker may fill. Slots are
filled with whole words of the vocabulary, which read back as themselves when the text is tokenized.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property, lru_cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from core.embedding.minilm import MiniLMEmbedder

Ids = NDArray[np.int64]
_BATCH = 32
_FIRST, _LAST = 101, 102  # BERT's [CLS] and [SEP]
MASK = 103


class WhiteBox:
    """The inside of a mean-pooling BERT embedder, for one attacker at a time.

    Args:
        embedder: whose weights are attacked; poisons are scored by exactly these.
    """

    def __init__(self, embedder: MiniLMEmbedder) -> None:
        self.embedder = embedder
        self._tokenizer, self._model = embedder.load()
        self.max_tokens = int(self._tokenizer.truncation["max_length"]) - 2

    def encode(self, text: str) -> list[int]:
        """Token ids of `text`, special tokens left out, cut where the embedder stops reading."""
        ids: list[int] = self._tokenizer.encode(text, add_special_tokens=False).ids
        return ids

    def decode(self, ids: Sequence[int]) -> str:
        """The text that `ids` stand for, pieces of one word joined."""
        text: str = self._tokenizer.decode(list(ids), skip_special_tokens=False)
        return text

    def embed(self, text: str) -> NDArray[np.float32]:
        """(d,) unit vector of `text`, as the embedder gives it."""
        return np.asarray(self.embedder.embed([text])[0], dtype=np.float32)

    def words_read(self, text: str, tokens: int) -> int:
        """How many blank-separated words of `text` lie within its first `tokens` tokens."""
        offsets = self._tokenizer.encode(text, add_special_tokens=False).offsets[: max(0, tokens)]
        return len(text[: offsets[-1][1]].split()) if offsets else 0

    @cached_property
    def words(self) -> NDArray[np.bool_]:
        """(vocabulary,) which tokens are whole words of two or more ASCII letters."""
        size = self.embeddings.shape[0]
        allowed = np.zeros(size, dtype=bool)
        for token, i in self._tokenizer.get_vocab().items():
            allowed[i] = i < size and len(token) > 1 and token.isascii() and token.isalpha()
        return allowed

    @cached_property
    def embeddings(self) -> NDArray[np.float32]:
        """(vocabulary, d) word embeddings."""
        weight = self._model.embeddings.word_embeddings.weight
        return np.asarray(weight.detach().float().numpy(), dtype=np.float32)

    def scores(self, rows: Sequence[Sequence[int]], query: NDArray[np.float32]) -> NDArray[np.float32]:
        """(n,) cosine of each row of ids (all of one length) with the unit vector `query`."""
        import torch

        parts = []
        with torch.inference_mode():
            for start in range(0, len(rows), _BATCH):
                pooled = self._pooled(torch.tensor(self._framed(rows[start : start + _BATCH])))
                parts.append(torch.nn.functional.normalize(pooled, dim=1) @ torch.from_numpy(query))
        return np.concatenate([part.numpy() for part in parts]) if parts else np.zeros(0, np.float32)

    def gradient(self, ids: Sequence[int], query: NDArray[np.float32]) -> tuple[float, NDArray[np.float32]]:
        """The cosine of `ids` with `query`, and its (len(ids), d) gradient at the word embeddings."""
        import torch

        framed = torch.tensor(self._framed([ids]))
        inputs = self._model.embeddings.word_embeddings(framed).detach().requires_grad_(True)
        hidden = self._model(inputs_embeds=inputs).last_hidden_state.float()
        score = torch.nn.functional.normalize(hidden.mean(1), dim=1)[0] @ torch.from_numpy(query)
        (gradient,) = torch.autograd.grad(score, inputs)
        inner = gradient[0, 1:-1].float().numpy()
        out = np.zeros((len(ids), inner.shape[1]), dtype=np.float32)
        out[: len(inner)] = inner
        return float(score.detach()), out

    def _framed(self, rows: Sequence[Sequence[int]]) -> Ids:
        kept = np.asarray(rows, dtype=np.int64)[:, : self.max_tokens]
        ends = np.ones((len(kept), 1), dtype=np.int64)
        return np.hstack([ends * _FIRST, kept, ends * _LAST])

    def _pooled(self, framed: Any) -> Any:
        return self._model(input_ids=framed).last_hidden_state.float().mean(1)


@lru_cache(maxsize=1)
def default_white_box() -> WhiteBox:
    """The embedded default model, loaded once a process."""
    return WhiteBox(MiniLMEmbedder())
