"""Two stages that judge without looking: bounds of what a defense can cost, and props for tests."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from core.config import StrictModel, parse
from core.stage import Hook, Resources, StageInput, StageResult, keep_where


class AlwaysConfig(StrictModel):
    """Nothing to configure."""


class AlwaysKeepStage:
    """Keeps every document with credibility 1: no defense, seen through the stage contract."""

    name = "always_keep"
    hook = Hook.POST_RETRIEVAL

    def __init__(self, config: Mapping[str, Any] | AlwaysConfig | None, resources: Resources) -> None:
        if not isinstance(config, AlwaysConfig):
            parse(AlwaysConfig, config or {}, self.name)

    def run(self, given: StageInput) -> StageResult:
        n = len(given.documents)
        return keep_where(given, [True] * n, "", credibility=[1.0] * n)


class AlwaysDropStage:
    """Drops every document with credibility 0: no attack passes, and no answer either."""

    name = "always_drop"
    hook = Hook.POST_RETRIEVAL

    def __init__(self, config: Mapping[str, Any] | AlwaysConfig | None, resources: Resources) -> None:
        if not isinstance(config, AlwaysConfig):
            parse(AlwaysConfig, config or {}, self.name)

    def run(self, given: StageInput) -> StageResult:
        n = len(given.documents)
        return keep_where(given, [False] * n, "always", credibility=[0.0] * n)
