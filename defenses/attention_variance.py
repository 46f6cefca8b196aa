"""Attention-variance filter (arXiv 2506.04390): a passage that holds the attention alone is suspect."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, cast

import numpy as np
from numpy.typing import NDArray
from pydantic import Field

from core.config import StrictModel, parse
from core.llm import AttentionLLM, Capability, require_llm
from core.records import Candidate
from core.stage import Hook, Resources, StageInput, StageResult, keep_where

_HEAD = "Answer the question from the passages in a few words.\n"


class AttentionVarianceConfig(StrictModel):
    """Thresholds of the paper; `variance` is in percent² and belongs to its model and to ten passages.

    A passage's score is the share (in percent) of the sums over each passage of its `top_words` largest
    word attentions. While the population variance of the scores is above `variance`, the passage with
    the largest goes, at most `share` of all (rounded down) and at most `most`. `sort_passes`: how often
    passages are first put in ascending order of score, so that place in the prompt does not count.
    `words` bounds how much of a passage is read.
    """

    variance: float = Field(default=26.2071, ge=0)
    top_words: int = Field(default=10, ge=1)
    share: float = Field(default=0.1, gt=0, le=1)
    most: int = Field(default=3, ge=1)
    sort_passes: int = Field(default=2, ge=0, le=5)
    words: int = Field(default=120, ge=5)


class AttentionVarianceStage:
    """Drops the passages that draw the answer's attention. Stateless; runs where the prompt is made.

    Needs a local model that shows its attention. A failed call fails the stage (which abstains).
    Credibility is one minus the passage's share of attention when it was last scored.
    """

    name = "attention_variance"
    hook = Hook.PRE_GENERATION

    def __init__(
        self, config: Mapping[str, Any] | AttentionVarianceConfig | None, resources: Resources
    ) -> None:
        if not isinstance(config, AttentionVarianceConfig):
            config = parse(AttentionVarianceConfig, config or {}, self.name)
        self.config = config
        self._llm = cast("AttentionLLM", require_llm(resources.llm, self.name, [Capability.ATTENTION]))

    def run(self, given: StageInput) -> StageResult:
        n = len(given.documents)
        if n < 2:
            return keep_where(given, [True] * n, "")
        question = given.query.text
        shares = np.full(n, np.nan)
        order = list(range(n))
        for _ in range(self.config.sort_passes):
            scores = self._scores(question, [given.documents[i] for i in order])
            order = [order[i] for i in np.lexsort((np.arange(len(order)), scores))]
        gone: list[int] = []
        allowed = min(int(self.config.share * n), self.config.most)
        while True:
            scores = self._scores(question, [given.documents[i] for i in order])
            shares[order] = scores / 100
            if len(gone) >= allowed or float(scores.var()) <= self.config.variance:
                break
            gone.append(order.pop(int(scores.argmax())))
        return keep_where(
            given,
            [i not in gone for i in range(n)],
            "holds_attention",
            credibility=[float(1.0 - share) for share in shares],
            evidence=[{"attention_share": float(share)} for share in shares],
        )

    def _scores(self, question: str, documents: Sequence[Candidate]) -> NDArray[np.float64]:
        """Each passage's share of attention in percent; equal shares where there is none at all."""
        prompt = _HEAD
        spans: list[tuple[int, int]] = []
        owner: list[int] = []
        for i, document in enumerate(documents):
            prompt += f"Passage {i + 1}:"
            for word in document.text.split()[: self.config.words]:
                short = word[:40]
                if any(c.isalnum() for c in short):  # punctuation holds attention without meaning
                    spans.append((len(prompt) + 1, len(prompt) + 1 + len(short)))
                    owner.append(i)
                prompt += f" {short}"
            prompt += "\n"
        prompt += f"Question: {question}"
        raw = np.zeros(len(documents))
        if spans:
            column = self._llm.attention_to(prompt, spans)
            owners = np.array(owner)
            for i in range(len(documents)):
                raw[i] = np.sort(column[owners == i])[::-1][: self.config.top_words].sum()
        total = raw.sum()
        return 100 * raw / total if total > 0 else np.full(len(documents), 100 / len(documents))
