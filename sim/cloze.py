"""Cloze scoring on a local language model: how well a text is known given what was read before it.

One forward pass over context and text gives, for every word of the text, the rank of the true word and
its log-likelihood given the context and the words to its left. Instruct-style mask filling gave nothing
with a model of 135M parameters; this reads the same knowledge out of it.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol

from aggregator.llm.cache import ResponseCache, request_key
from core.paths import cache_dir as resolve_cache

_WORD = re.compile(r"[^\W_]+(?:['’-][^\W_]+)*")


@dataclass(frozen=True, slots=True)
class WordScore:
    """A word of the text (character span), the worst rank of its tokens (0: the model's first guess)
    and its log-likelihood (sum over tokens).
    """

    start: int
    end: int
    rank: int
    log_likelihood: float


class LocalLLM(Protocol):
    """A back end whose forward pass can be used (`aggregator.llm.transformers_llm.TransformersLLM`)."""

    identity: str

    def local(self) -> Any: ...


class ClozeModel:
    """Scores of every word of a text after a context; kept on disk by content.

    Args:
        llm: a local model.
        max_tokens: of context and text together; the context loses its beginning first.
        cache_dir: where scores are kept; None for the usual cache folder.
    """

    def __init__(self, llm: LocalLLM, *, max_tokens: int = 1600, cache_dir: Path | str | None = None) -> None:
        self._llm = llm
        self._max_tokens = max_tokens
        self._cache = ResponseCache(resolve_cache(cache_dir) / "cloze.sqlite")

    def words(self, text: str, context: str = "") -> list[WordScore]:
        """The score of every word of `text`, in order; the first word without context has rank 0 and 0.0."""
        key = request_key(
            {"format": 1, "model": self._llm.identity, "n": self._max_tokens, "t": text, "c": context}
        )
        known = self._cache.get(key)
        if known is None:
            known = self._score(text, context)
            self._cache.put(key, known)
        return [WordScore(int(a), int(b), int(rank), float(ll)) for a, b, rank, ll in known]

    def _score(self, text: str, context: str) -> list[tuple[int, int, int, float]]:
        import torch

        local = self._llm.local()
        encoded = local.tokenizer(text, add_special_tokens=False, return_offsets_mapping=True)
        ids: list[int] = encoded.input_ids[: self._max_tokens]
        if not ids:
            return []
        before = local.encode(context + "\n\n") if context else []
        before = before[max(0, len(before) - (self._max_tokens - len(ids))) :]
        with local.session():
            from transformers import DynamicCache

            whole = [*before, *ids]
            logits = local.forward([whole], DynamicCache(), logits_to_keep=len(ids) + bool(before)).logits[0]
            # logits at position i say what comes at i + 1: the token before the text predicts its first
            predicting = logits[:-1].float()
            truth = torch.tensor(ids if before else ids[1:])
            scores = torch.log_softmax(predicting, -1)
            own = scores[torch.arange(len(truth)), truth]
            ranks = (scores > own[:, None]).sum(-1)
        missing = 0 if before else 1  # the very first token has nothing before it
        token_rank = [0] * missing + ranks.tolist()
        token_score = [0.0] * missing + own.tolist()
        return _by_word(text, encoded.offset_mapping[: len(ids)], token_rank, token_score)


def _by_word(
    text: str, offsets: Sequence[tuple[int, int]], ranks: Sequence[int], scores: Sequence[float]
) -> list[tuple[int, int, int, float]]:
    found = []
    for match in _WORD.finditer(text):
        start, end = match.span()
        inside = [i for i, (a, b) in enumerate(offsets) if a < end and b > start]
        if inside:
            rank = max(ranks[i] for i in inside)
            found.append((start, end, rank, float(sum(scores[i] for i in inside))))
    return found
