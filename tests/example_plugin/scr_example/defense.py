"""A defense: documents that shout are dropped."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from pydantic import Field

from core.config import StrictModel, parse
from core.stage import Resources, StageInput, StageResult, keep_where


class ShoutingConfig(StrictModel):
    """`max_share`: the largest share of capitals among a document's letters, in [0,1]."""

    max_share: float = Field(default=0.5, ge=0, le=1)


class ShoutingFilter:
    """Drops a document whose share of capital letters is above `max_share`."""

    name = "shouting"

    def __init__(self, config: Mapping[str, Any], resources: Resources) -> None:
        self.config = parse(ShoutingConfig, config, "defense 'shouting'")

    def run(self, given: StageInput) -> StageResult:
        shares = [share_of_capitals(document.text) for document in given.documents]
        return keep_where(
            given,
            [share <= self.config.max_share for share in shares],
            "shouts",
            credibility=[1.0 - share for share in shares],
            evidence=[{"capitals": share} for share in shares],
        )


def share_of_capitals(text: str) -> float:
    """Capitals among the letters of `text`, in [0,1]; 0 where it has no letters."""
    letters = [character for character in text if character.isalpha()]
    return sum(character.isupper() for character in letters) / len(letters) if letters else 0.0
