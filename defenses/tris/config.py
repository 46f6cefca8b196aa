"""Configuration of TRIS."""

from __future__ import annotations

from typing import Literal

from pydantic import Field

from core.config import StrictModel


class TrisConfig(StrictModel):
    """Which layers run and their thresholds (paper, sections 4 and 6.2).

    `geometry` and `prefix` switch layers 1 and 2. `verifier`: layer 3 `off`, `always`, or `adaptive`;
    adaptive runs it where layers 1 and 2 reject different documents (`adaptive_on: disagreement`, the
    paper) or where one of them rejects any (`removal`, its code). `judge` names an embedder of the
    registry for layer 1; None judges in the aggregator's own space (the paper found no difference).
    Below `min_candidates` documents layer 1 keeps all: its partition is unstable at 5 and sound from 10,
    so feed it the union of the sources' replies. `document_calls`: 2 asks for claim and verdict apart,
    1 in one prompt.
    """

    geometry: bool = True
    prefix: bool = True
    verifier: Literal["off", "always", "adaptive"] = "off"
    adaptive_on: Literal["disagreement", "removal"] = "disagreement"
    judge: str | None = None
    clusters: int = Field(default=3, ge=2, le=20)
    min_candidates: int = Field(default=10, ge=3)
    prefix_tokens: int = Field(default=20, ge=3, le=200)
    overlap: float = Field(default=0.8, gt=0, le=1)
    trigger_tokens: int = Field(default=12, ge=2)
    repeats: int = Field(default=2, ge=2)
    document_calls: Literal[1, 2] = 2
