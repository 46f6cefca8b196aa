"""What the control plane decides: a risk profile, and the defense plan made of it."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import IntEnum
from typing import Any

from core.records import PrivacyRequest
from core.stage import Hook


class Level(IntEnum):
    """Overall threat (ADO section 4.3.2)."""

    LOW = 0
    ELEVATED = 1
    CRITICAL = 2


@dataclass(frozen=True, slots=True)
class RiskProfile:
    """The Sentinel's conclusion: likelihoods in [0,1] by kind of attack, and the evidence for them.

    `poisoning` accuses documents; the other kinds accuse the user. `evidence` maps a signal's name to
    how far it lay beyond normal, [0,1]. `fallback` names why an LLM's answer was not used ("" if it was,
    or where there is no LLM): then the plan must be the stricter one.
    """

    level: Level = Level.LOW
    membership: float = 0.0
    poisoning: float = 0.0
    leakage: float = 0.0
    injection: float = 0.0
    evidence: Mapping[str, float] = field(default_factory=dict)
    fallback: str = ""

    @property
    def user_risk(self) -> float:
        """The largest likelihood that accuses the user."""
        return max(self.membership, self.leakage, self.injection)

    @property
    def risk(self) -> float:
        """The largest likelihood of all."""
        return max(self.user_risk, self.poisoning)


@dataclass(frozen=True, slots=True)
class PlannedStage:
    """A stage that the plan asks for: its name in the stage table, its hook and its parameters."""

    name: str
    hook: Hook
    parameters: Mapping[str, Any] = field(default_factory=dict)
    required: bool = False

    @property
    def identity(self) -> str:
        """One line that two equal stages share, whatever the order of their parameters."""
        return f"{self.name}@{self.hook}{json.dumps(dict(self.parameters), sort_keys=True, default=str)}"


@dataclass(frozen=True, slots=True)
class DefensePlan:
    """What is done for one question: privacy asked of the sources, stages by hook, or a refusal.

    `reasons` explain each choice, one sentence each; they go to the trail.
    """

    privacy: PrivacyRequest | None = None
    stages: tuple[PlannedStage, ...] = ()
    refuse: bool = False
    reasons: tuple[str, ...] = ()

    def explain(self) -> str:
        """The plan in one line for a person."""
        chosen = [f"{stage.name}{_short(stage.parameters)}" for stage in self.stages]
        if self.privacy is not None:
            chosen.insert(0, f"{self.privacy.mechanism}(epsilon={self.privacy.epsilon:g})")
        head = "refuse" if self.refuse else ", ".join(chosen) or "no defense"
        return f"{head}: {'; '.join(self.reasons)}" if self.reasons else head


def _short(parameters: Mapping[str, Any]) -> str:
    inner = ", ".join(f"{key}={value}" for key, value in parameters.items())
    return f"({inner})" if inner else ""
