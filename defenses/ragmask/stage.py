"""RAGMask over the aggregator's candidates: sanitized texts, ranked again, the best of them go on."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from math import ceil
from typing import Any

import numpy as np
from pydantic import Field

from core.config import parse
from core.errors import ConfigError
from core.records import Candidate
from core.stage import Resources, StageInput, StageResult
from core.verdict import Action, Verdict
from defenses.ragmask.mask import MaskConfig, Masker, Sanitized

_CUTS_SHOWN = 16


class RagMaskConfig(MaskConfig):
    """`keep`: p, what goes on; `alpha`: alpha * p documents are examined, the rest dropped unexamined.

    `rewrite` false ranks by the sanitized texts and hands on the original ones: masking also takes
    from an honest document the very sentence that makes it relevant.
    """

    keep: int = Field(default=5, ge=1)
    alpha: float = Field(default=4.0, ge=1.0)
    rewrite: bool = True

    @property
    def examined(self) -> int:
        """Alpha * p, rounded up."""
        return ceil(self.alpha * self.keep)


class RagMaskStage:
    """Cuts what alone makes a document similar to the question, then keeps the best (paper, section 3.2).

    Verdicts: REWRITE (`masked`; evidence `cut_0_start`, `cut_0_end`, … are the characters of the text
    as it came), KEEP (`passed`), ABSTAIN (`single_segment`: too short to judge, kept where it ranks
    among the best), DROP (`all_masked`, `outranked`, `not_examined`). Credibility is the share of its
    similarity that a document keeps.

    Raises:
        ConfigError: a wrong option, no embedder, or the fast mode with one that shows no token states.
    """

    name = "ragmask"

    def __init__(self, config: Mapping[str, Any] | RagMaskConfig, resources: Resources) -> None:
        self.config = (
            config
            if isinstance(config, RagMaskConfig)
            else parse(RagMaskConfig, config, f"defense {self.name!r}")
        )
        if resources.embedder is None:
            raise ConfigError("defense 'ragmask' needs an embedder")
        self._embedder = resources.embedder
        self._masker = Masker(self.config, resources.embedder)

    def run(self, given: StageInput) -> StageResult:
        """One verdict a candidate."""
        if not given.documents:
            return StageResult((), ())
        texts = [document.text for document in given.documents]
        query, vectors = given.query_vector, given.vectors
        if query is None:
            query = self._embedder.embed([given.query.text])[0]
        if vectors is None:
            vectors = self._embedder.embed(texts)
        similarity = vectors @ query
        order = np.argsort(-similarity, kind="stable")
        examined = order[: self.config.examined].tolist()
        found = dict(
            zip(
                examined,
                self._masker.sanitize(query, [texts[i] for i in examined], similarity[examined]),
                strict=True,
            )
        )
        standing = [i for i in examined if found[i].text]
        best = sorted(standing, key=lambda i: -found[i].after)[: self.config.keep]
        kept = set(best)
        verdicts = tuple(
            self._verdict(document, found.get(i), i in kept) for i, document in enumerate(given.documents)
        )
        documents = tuple(
            replace(given.documents[i], text=found[i].text) if self.config.rewrite else given.documents[i]
            for i in best
        )
        return StageResult(documents, verdicts, {"masked": float(sum(bool(found[i].cut) for i in best))})

    def _verdict(self, document: Candidate, found: Sanitized | None, kept: bool) -> Verdict:
        if found is None:
            return Verdict(document.key, Action.DROP, None, "not_examined")
        evidence: dict[str, float] = {
            "before": found.before,
            "after": found.after,
            "segments": float(len(found.spans)),
            "cut": float(len(found.cut)),
        }
        for n, i in enumerate(found.cut[:_CUTS_SHOWN]):
            start, end = found.spans[i]
            evidence[f"cut_{n}_start"], evidence[f"cut_{n}_end"] = float(start), float(end)
        credibility = None
        if found.judged and found.before > 0:
            credibility = min(1.0, max(0.0, found.after / found.before))
        if not kept:
            reason = "outranked" if found.text else "all_masked"
            return Verdict(document.key, Action.DROP, credibility, reason, evidence)
        if not found.judged:
            return Verdict(document.key, Action.ABSTAIN, None, "single_segment", evidence)
        if found.cut and self.config.rewrite:
            return Verdict(document.key, Action.REWRITE, credibility, "masked", evidence)
        return Verdict(document.key, Action.KEEP, credibility, "passed", evidence)
