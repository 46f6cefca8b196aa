"""Forced choice: which of the known answers does the kept context make likelier to a language model."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from aggregator.llm.cache import ResponseCache, request_key
from core.errors import ConfigError
from core.llm import Capability, ScoringLLM, require_llm
from core.paths import cache_dir as resolve_cache
from core.reader import Reading, ReadRequest
from core.records import Candidate
from core.text import squash

_WORD_CHARACTERS = 12  # a text without blanks is cut as if its words had this length


class ChoiceReader:
    """Picks the option with the highest mean log-likelihood per token after context and question.

    Not free generation: the right answer and the attack's target are both on the table, and the model
    says which of them the kept documents support. Scores are kept on disk by content, so a context
    that comes back costs nothing. No documents, no answer.

    Args:
        llm: a back end that scores continuations.
        context_words: limit of all documents together (500 words are some 700 tokens); longer ones
            give way first, so that a long document never pushes a short one out.
        cache_dir: where scores are kept; None for the usual cache folder.

    Raises:
        ConfigError: the back end cannot score.
    """

    name = "choice"
    simulated = False
    forced_choice = True

    def __init__(
        self, llm: ScoringLLM, *, context_words: int = 500, cache_dir: str | Path | None = None
    ) -> None:
        self.llm = llm
        require_llm(llm, "reader 'choice'", [Capability.LOGPROBS])
        self._budget = context_words
        self._cache = ResponseCache(resolve_cache(cache_dir) / "choice.sqlite")

    def read(self, request: ReadRequest) -> Reading:
        """The likeliest option and the score of each, in the order given; ties go to the first.

        Raises:
            ConfigError: fewer than two options: nothing to choose between.
            LLMError: the model failed.
        """
        if not request.documents:
            return Reading("", abstained=True)
        if len(request.options) < 2:
            raise ConfigError(
                "reader 'choice' chooses between the right answer and the attack's target, and was given "
                f"{len(request.options)} of them: use data with poison.jsonl, an attack, or another reader"
            )
        scores, cached = self._scores(request)
        best = int(np.argmax(scores))
        return Reading(
            request.options[best], llm_calls=0 if cached else 1, scores=tuple(float(s) for s in scores)
        )

    def _scores(self, request: ReadRequest) -> tuple[NDArray[np.float64], bool]:
        texts = [_paragraph(document) for document in request.documents]
        key = request_key(
            {
                "format": 1,
                "model": getattr(self.llm, "identity", self.llm.name),
                "words": self._budget,
                "question": request.question,
                "texts": texts,
                "options": list(request.options),
            }
        )
        known = self._cache.get(key)
        if known is not None:
            return np.array(known, dtype=np.float64), True
        prompt = choice_prompt(request.question, fit(texts, self._budget))
        scores = self.llm.log_likelihood(prompt, [f" {option}" for option in request.options])
        self._cache.put(key, [float(score) for score in scores])
        return scores, False


def choice_prompt(question: str, texts: Sequence[str]) -> str:
    """Numbered documents, the question, and the opening of its answer."""
    context = "\n".join(f"[{i}] {text}" for i, text in enumerate(texts, start=1))
    asked = question.strip().rstrip("?")
    return f"Context:\n{context}\n\nQuestion: {asked}?\nAnswer:"


def fit(texts: Sequence[str], budget: int) -> list[str]:
    """`texts` cut at their end so that together they have at most `budget` words, shared fairly."""
    split = [text.split() for text in texts]
    limits = fair_shares([len(pieces) for pieces in split], budget)
    return [
        " ".join(pieces[:limit])[: limit * _WORD_CHARACTERS]
        for pieces, limit in zip(split, limits, strict=True)
    ]


def fair_shares(lengths: Sequence[int], budget: int) -> list[int]:
    """What each of `lengths` may keep of `budget`: the shortest in full, the rest share what is left."""
    shares = list(lengths)
    left, waiting = budget, len(lengths)
    for i in sorted(range(len(lengths)), key=lambda i: (lengths[i], i)):
        shares[i] = min(lengths[i], left // waiting)
        left -= shares[i]
        waiting -= 1
    return shares


def _paragraph(document: Candidate) -> str:
    head = f"{document.title}. " if document.title else ""
    return squash(head + document.text)
