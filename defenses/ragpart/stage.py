"""RAGPart over the aggregator's candidates: the documents that win the fragment vote go on."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Literal

import numpy as np
from pydantic import Field, model_validator

from core.config import StrictModel, parse
from core.errors import ConfigError
from core.seeding import generator
from core.stage import Resources, StageInput, StageResult, keep_where
from defenses.ragpart.fragments import embed_fragments
from defenses.ragpart.index import FragmentIndex
from defenses.ragpart.poll import Aggregation, aggregate


class VoteConfig(StrictModel):
    """How documents vote: N `fragments` each, `combine` (k) of them in a combination.

    The defaults are the paper's N and k. `similarity` of the averaged vector: `dot` (default) or
    `cosine`, which lets a single fragment count for more.
    """

    fragments: int = Field(default=5, ge=1, le=64)
    combine: int = Field(default=3, ge=1)
    aggregation: Aggregation = Aggregation.MAJORITY
    similarity: Literal["dot", "cosine"] = "dot"

    @model_validator(mode="after")
    def _fits(self) -> VoteConfig:
        if self.combine > self.fragments:
            raise ValueError(f"combine ({self.combine}) must be at most fragments ({self.fragments})")
        return self


class RagPartConfig(VoteConfig):
    """`keep`: p, the length of every list and of what goes on; as many as the reader reads."""

    keep: int = Field(default=5, ge=1)


class RagPartStage:
    """Keeps the `keep` candidates that most combinations list (RAGPart paper, section 3.1).

    Credibility is a document's share of the C(N,k) lists, evidence its `share` and its `similarity`
    averaged over all combinations. Up to `keep` candidates all stay, whatever the vote says.

    Raises:
        ConfigError: a wrong option, or no embedder.
    """

    name = "ragpart"

    def __init__(self, config: Mapping[str, Any] | RagPartConfig, resources: Resources) -> None:
        self.config = (
            config
            if isinstance(config, RagPartConfig)
            else parse(RagPartConfig, config, f"defense {self.name!r}")
        )
        if resources.embedder is None:
            raise ConfigError("defense 'ragpart' needs an embedder")
        self._embedder = resources.embedder

    def run(self, given: StageInput) -> StageResult:
        """One verdict a candidate: KEEP (`passed`) or DROP (`outvoted`)."""
        if not given.documents:
            return StageResult((), ())
        settings = self.config
        query = given.query_vector
        if query is None:
            query = self._embedder.embed([given.query.text])[0]
        texts = [document.text for document in given.documents]
        index = FragmentIndex(
            embed_fragments(texts, settings.fragments, self._embedder),
            settings.combine,
            cosine=settings.similarity == "cosine",
        )
        poll = index.poll(query, settings.keep)
        ballot = aggregate(poll, settings.keep, settings.aggregation, generator(given.seed, self.name))
        share = np.zeros(len(texts))
        share[poll.documents] = poll.counts / poll.n_lists
        similarity = np.full(len(texts), np.nan)
        similarity[poll.documents] = poll.means
        chosen = set(ballot.documents.tolist())
        return keep_where(
            given,
            [i in chosen for i in range(len(texts))],
            "outvoted",
            credibility=share.tolist(),
            evidence=[
                {"share": s} if np.isnan(v) else {"share": s, "similarity": float(v)}
                for s, v in zip(share.tolist(), similarity, strict=True)
            ],
        )
