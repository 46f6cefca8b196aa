"""Reads risk: signals and trust in, a risk profile out (ADO section 4.3.2).

Two faces, one protocol: `RuleSentinel` needs no model; `LLMSentinel` asks one and can only raise what
the rules found, never lower it, so that no text of a user can talk the guard away.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Literal, Protocol, runtime_checkable

from pydantic import Field

from core.config import StrictModel
from core.llm import LLM
from defenses.ado.calibrate import DEFAULT, Calibration
from defenses.ado.controller import Controller
from defenses.ado.plan import Level, RiskProfile
from defenses.ado.signals import QuerySignals, RetrievalSignals, as_mapping


@dataclass(frozen=True, slots=True)
class Observation:
    """What is known about a question in one pass; `retrieval` is None before retrieval."""

    query_text: str
    query: QuerySignals
    retrieval: RetrievalSignals | None = None
    trust: float = 0.5


@runtime_checkable
class Sentinel(Protocol):
    """Estimates the risk of one question in one pass; must not raise."""

    def assess(self, seen: Observation) -> RiskProfile: ...


class SentinelConfig(StrictModel):
    """Likelihoods from which the threat level rises, and trust below which it rises by one.

    The values are ours (NOT PUBLISHED).
    """

    elevated: float = Field(default=0.4, gt=0, lt=1)
    critical: float = Field(default=0.75, gt=0, lt=1)
    distrusted: float = Field(default=0.2, ge=0, le=1)


class RuleSentinel:
    """Weighs how far each signal lies beyond its calibrated range; below a millisecond, no model.

    Evidence combines as independent witnesses do, 1 - prod(1 - weight * excess). Speed is no witness:
    it only corroborates repetition, so a batch job with a thousand different questions is no attack.
    """

    def __init__(self, calibration: Calibration = DEFAULT, config: SentinelConfig | None = None) -> None:
        self.calibration = calibration
        self.config = config or SentinelConfig()

    def assess(self, seen: Observation) -> RiskProfile:
        above, below = self.calibration.above, self.calibration.below
        query = as_mapping(seen.query)
        found = {name: above(name, value) for name, value in query.items()}
        repeated = found["overlap"] * (0.5 + 0.5 * found["velocity"])
        membership = [
            0.9 * found["blanks"],
            0.8 * found["membership"],
            0.35 * found["length"],
            0.4 * repeated,
        ]
        leakage = [0.85 * found["extraction"], 0.2 * found["complexity"]]
        injection = [0.85 * found["instruction"], 0.2 * found["complexity"]]
        poisoning: list[float] = []
        if seen.retrieval is not None:
            after = as_mapping(seen.retrieval)
            found.update({name: above(name, value) for name, value in after.items()})
            for name in ("dispersion", "drop_off"):
                found[name] = max(found.get(name, 0.0), below(name, after.get(name)))
            quoted = found.get("quoted", 0.0)
            membership.append(0.9 * quoted)
            poisoning = [
                # a query that quotes a document echoes it as well: that is no poison
                0.8 * found.get("question_echo", 0.0) * (1.0 - quoted),
                0.6 * found.get("tightness", 0.0),
                0.4 * found.get("dispersion", 0.0),
                0.3 * found.get("drop_off", 0.0),
                0.6 * found.get("credibility_spread", 0.0),
                0.6 * found.get("disagreement", 0.0),
            ]
        profile = RiskProfile(
            membership=_either(membership),
            poisoning=_either(poisoning),
            leakage=_either(leakage),
            injection=_either(injection),
            evidence={name: value for name, value in found.items() if value > 0},
        )
        return replace(profile, level=self.level(profile, seen.trust))

    def level(self, profile: RiskProfile, trust: float) -> Level:
        """The threat level of `profile` for a user of this `trust`."""
        level = Level.LOW
        if profile.risk >= self.config.elevated:
            level = Level.ELEVATED
        if profile.risk >= self.config.critical:
            level = Level.CRITICAL
        if trust < self.config.distrusted and level < Level.CRITICAL:
            level = Level(level + 1)
        return level


def _either(parts: list[float]) -> float:
    rest = 1.0
    for part in parts:
        rest *= 1.0 - part
    return 1.0 - rest


class _Answer(StrictModel):
    """What the Sentinel's model must answer."""

    token: str
    level: Literal["LOW", "ELEVATED", "CRITICAL"]
    p_mia: float = Field(ge=0, le=1)
    p_poison: float = Field(ge=0, le=1)
    p_leak: float = Field(ge=0, le=1)


_TASK = (
    "You rate the risk of one question to a document-retrieval system. The telemetry gives numbers; "
    "excess is how far a signal lies beyond this deployment's normal range, 0 to 1. Rate: p_mia, that "
    "the question tests whether some document is stored; p_poison, that planted documents were retrieved; "
    "p_leak, that the question makes the system recite stored text or obey foreign instructions; level, "
    "LOW, ELEVATED or CRITICAL. Answer with one JSON object with the keys token, level, p_mia, p_poison, "
    "p_leak and nothing else."
)


class LLMSentinel:
    """Asks a language model, with the rules as floor (ADO instantiates both stages as LLM agents).

    Each likelihood is the larger of the model's and the rules'. A failed, late or malformed answer
    gives the rules' profile with `fallback` set, and the level raised by one.

    Args:
        llm: the controller model.
        rules: what counts in any case.
        deadline_s: seconds after which the answer is not waited for.
    """

    def __init__(self, llm: LLM, rules: RuleSentinel | None = None, deadline_s: float = 5.0) -> None:
        self.rules = rules or RuleSentinel()
        self.controller = Controller(llm, deadline_s)

    @property
    def failures(self) -> Mapping[str, int]:
        """How many answers were not used, by reason."""
        return self.controller.failures

    def assess(self, seen: Observation) -> RiskProfile:
        base = self.rules.assess(seen)
        telemetry = {
            "pass": "before retrieval" if seen.retrieval is None else "after retrieval",
            "trust": round(seen.trust, 3),
            "excess": {name: round(value, 3) for name, value in base.evidence.items()},
            "signals": {name: round(value, 4) for name, value in as_mapping(seen.query).items()},
        }
        data = {"telemetry": telemetry, "question": seen.query_text[:4000]}
        answer, problem = self.controller.ask(_TASK, data, _Answer)
        if answer is None:
            raised = Level(min(base.level + 1, Level.CRITICAL))
            return replace(base, level=raised, fallback=problem)
        merged = replace(
            base,
            membership=max(base.membership, answer.p_mia),
            poisoning=max(base.poisoning, answer.p_poison),
            leakage=max(base.leakage, answer.p_leak),
        )
        level = max(base.level, Level[answer.level], self.rules.level(merged, seen.trust))
        return replace(merged, level=level)
