"""What a stage concludes about one document."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum

from core.records import DocumentKey


class Action(StrEnum):
    """What a stage does with a document; ABSTAIN means that it could not judge and keeps it."""

    KEEP = "keep"
    DROP = "drop"
    DOWNWEIGHT = "downweight"
    REWRITE = "rewrite"
    ABSTAIN = "abstain"


@dataclass(frozen=True, slots=True)
class Verdict:
    """One stage's conclusion about one document.

    `credibility` lies in [0,1] (1 = sound), or is None where the stage does not score. `reason` is
    a stable code; `evidence` holds the numbers that it was judged by.
    """

    key: DocumentKey
    action: Action
    credibility: float | None = None
    reason: str = ""
    evidence: Mapping[str, float] = field(default_factory=dict)
