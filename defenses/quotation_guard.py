"""Withholds documents that the question already quotes: ours, against membership inference.

A mask-based or plain membership probe carries (most of) the document whose presence it tests. Whoever
holds that text learns nothing new from reading it back, except that it is stored; so the reader does
not see it, and the answer is the same as if the document were not there. Honest users who paste a
passage and ask about it keep the rest of the evidence.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from pydantic import Field

from core.config import StrictModel, parse
from core.stage import Hook, Resources, StageInput, StageResult, keep_where
from core.text import ngrams, words

_PIECE = 5  # words in a run that counts as quoted


class QuotationGuardConfig(StrictModel):
    """Shares in (0,1] from which a document counts as quoted.

    `of_document`: share of the document's five-word runs that the question holds; `of_query`: share of
    the question's runs that the document holds. A question of fewer than `long_query` words is no
    quotation: a planted text may well hold all of it.
    """

    of_document: float = Field(default=0.25, gt=0, le=1)
    of_query: float = Field(default=0.3, gt=0, le=1)
    long_query: int = Field(default=20, ge=_PIECE)


class QuotationGuardStage:
    """Pre-generation stage; stateless, no model."""

    name = "quotation_guard"
    hook = Hook.PRE_GENERATION
    withholds = True  # what it drops stays hidden, also where everything else was dropped

    def __init__(
        self,
        config: Mapping[str, Any] | QuotationGuardConfig | None = None,
        resources: Resources | None = None,
    ) -> None:
        if not isinstance(config, QuotationGuardConfig):
            config = parse(QuotationGuardConfig, config or {}, self.name)
        self.config = config

    def run(self, given: StageInput) -> StageResult:
        asked = words(given.query.text)
        pieces = set(ngrams(asked, _PIECE))
        shares = [quoted_shares(pieces, document.text) for document in given.documents]
        long = len(asked) >= self.config.long_query
        kept = [
            not long or (of_document < self.config.of_document and of_query < self.config.of_query)
            for of_document, of_query in shares
        ]
        evidence = [{"of_document": d, "of_query": q} for d, q in shares]
        return keep_where(given, kept, "quoted_in_question", evidence=evidence)


def quoted_shares(pieces: set[tuple[str, ...]], text: str) -> tuple[float, float]:
    """Share of the runs of `text` that are in `pieces`, and share of `pieces` that are in `text`."""
    runs = set(ngrams(words(text), _PIECE))
    if not runs or not pieces:
        return 0.0, 0.0
    shared = len(runs & pieces)
    return shared / len(runs), shared / len(pieces)
