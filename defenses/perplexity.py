"""Perplexity filter: text that a language model finds unlikely was optimised for a retriever."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Mapping
from typing import Any, cast

import numpy as np
from numpy.typing import NDArray
from pydantic import Field

from core.config import StrictModel, parse
from core.errors import LLMError
from core.llm import Capability, ScoringLLM, require_llm
from core.stage import Hook, Resources, StageInput, StageResult
from core.text import content_hash
from core.verdict import Action, Verdict

_REMEMBERED = 10_000
PROMPT = "Text:"
FAILED = "llm_failed"


class PerplexityConfig(StrictModel):
    """When a text is too unlikely.

    `limit`: largest perplexity that passes; None judges within the round instead: a document goes whose
    log-perplexity lies more than `deviations` robust standard deviations (1.4826 MAD, at least
    `least_spread` nats) above the median, in rounds of at least `min_documents`. `words`: how much of
    a text is read.
    """

    limit: float | None = Field(default=None, gt=1)
    deviations: float = Field(default=3.0, gt=0)
    least_spread: float = Field(default=0.2, gt=0)
    min_documents: int = Field(default=4, ge=2)
    words: int = Field(default=100, ge=5)


class PerplexityStage:
    """Drops unlikely texts. Catches token soup of gradient attacks, not fluent lies.

    Remembers the perplexity of texts it has read, which changes no result. A text on which the model fails
    is not judged (abstain), and the notes count it; neither is one without words. Credibility is one half at
    the threshold and falls with each nat above it.
    """

    name = "perplexity"
    hook = Hook.POST_RETRIEVAL

    def __init__(self, config: Mapping[str, Any] | PerplexityConfig | None, resources: Resources) -> None:
        if not isinstance(config, PerplexityConfig):
            config = parse(PerplexityConfig, config or {}, self.name)
        self.config = config
        self._llm = cast("ScoringLLM", require_llm(resources.llm, self.name, [Capability.LOGPROBS]))
        self._known: OrderedDict[str, float] = OrderedDict()

    def run(self, given: StageInput) -> StageResult:
        found = [self._log_perplexity(document.text) for document in given.documents]
        known = [value for value in found if isinstance(value, float)]
        threshold = self._threshold(np.array(known))
        verdicts, documents = [], []
        for document, value in zip(given.documents, found, strict=True):
            if isinstance(value, str):
                verdicts.append(Verdict(document.key, Action.ABSTAIN, None, value))
                documents.append(document)
                continue
            excess = value - threshold
            score = float(1.0 / (1.0 + np.exp(np.clip(excess, -50.0, 50.0))))
            evidence = {"perplexity": float(np.exp(min(value, 50.0)))}
            if excess > 0:
                verdicts.append(Verdict(document.key, Action.DROP, score, "perplexity", evidence))
                continue
            verdicts.append(Verdict(document.key, Action.KEEP, score, "passed", evidence))
            documents.append(document)
        failures = sum(value == FAILED for value in found)
        return StageResult(tuple(documents), tuple(verdicts), {"llm_failures": float(failures)})

    def _threshold(self, logs: NDArray[np.float64]) -> float:
        """Largest log-perplexity that passes."""
        config = self.config
        if config.limit is not None:
            return float(np.log(config.limit))
        if len(logs) < config.min_documents:
            return np.inf
        middle = float(np.median(logs))
        spread = 1.4826 * float(np.median(np.abs(logs - middle)))
        return middle + config.deviations * max(spread, config.least_spread)

    def _log_perplexity(self, text: str) -> float | str:
        """Mean negative log-likelihood per token, or why there is none."""
        short = beginning(text, self.config.words)
        if not short:
            return "no_words"
        key = content_hash(short)
        if key not in self._known:
            try:
                value = -float(self._llm.log_likelihood(PROMPT, [f" {short}"])[0])
            except LLMError:
                return FAILED
            if not np.isfinite(value):
                return FAILED
            self._known[key] = value
            while len(self._known) > _REMEMBERED:
                self._known.popitem(last=False)
        return self._known[key]


def beginning(text: str, n: int) -> str:
    """The first `n` words of `text`, none of them longer than twelve letters on average."""
    return " ".join(text.split()[:n])[: 12 * n]
