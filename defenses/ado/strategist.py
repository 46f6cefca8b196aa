"""Turns a risk profile into a defense plan (ADO section 4.3.3), by rules or by a language model.

A Strategist sees the profile and the trust, never the question or a document.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any, Literal, Protocol, runtime_checkable

from pydantic import Field

from core.config import StrictModel
from core.llm import LLM
from core.records import PrivacyRequest
from core.stage import Hook
from defenses.ado.controller import Controller
from defenses.ado.plan import DefensePlan, Level, PlannedStage, RiskProfile

Phase = Literal["before", "after"]


@runtime_checkable
class Strategist(Protocol):
    """Chooses defenses for one pass; must not raise."""

    def plan(self, profile: RiskProfile, trust: float, phase: Phase) -> DefensePlan: ...

    def vocabulary(self) -> tuple[PlannedStage, ...]:
        """Every stage that a plan may name, so that a missing one shows at start-up."""
        ...


class StrategistConfig(StrictModel):
    """Thresholds on likelihoods and what is done beyond them; the values are ours (NOT PUBLISHED).

    `trust_swing`: a threshold moves by this times (trust - 0.5): lower trust, earlier defense.
    `mechanism` and the three `epsilon_*` are asked of the sources: at elevated risk, at critical risk,
    and of users whose trust lies below `distrusted` whatever they ask. `filter_stage` removes planted
    documents; its `threshold` falls as risk rises (lower is stricter: more clusters are too alike).
    `attention_stage` is "" where no local model can show its attention.
    """

    membership: float = Field(default=0.4, gt=0, lt=1)
    poisoning: float = Field(default=0.3, gt=0, lt=1)
    leakage: float = Field(default=0.4, gt=0, lt=1)
    trust_swing: float = Field(default=0.3, ge=0, le=1)
    strict_factor: float = Field(default=0.5, gt=0, le=1)
    distrusted: float = Field(default=0.2, ge=0, le=1)
    banned: float = Field(default=0.05, ge=0, le=1)
    mechanism: str = "laplace"
    epsilon_elevated: float = Field(default=3.0, gt=0)
    epsilon_critical: float = Field(default=1.0, gt=0)
    epsilon_distrusted: float = Field(default=0.5, gt=0)
    filter_stage: str = "trustrag"
    filter_parameters: Mapping[str, Any] = Field(default_factory=dict)
    attention_stage: str = ""
    audit_span: int = Field(default=100, ge=5)
    audit_span_strict: int = Field(default=12, ge=5)


class FixedStrategist:
    """The same plan for every question, whatever the risk: the paper's static and targeted policies."""

    def __init__(self, before: DefensePlan, after: DefensePlan) -> None:
        self._plans = {"before": before, "after": after}

    def plan(self, profile: RiskProfile, trust: float, phase: Phase) -> DefensePlan:
        return self._plans[phase]

    def vocabulary(self) -> tuple[PlannedStage, ...]:
        return self._plans["after"].stages


class RuleStrategist:
    """The default: thresholds moved by trust, tightened by the threat level."""

    def __init__(self, config: StrategistConfig | None = None) -> None:
        self.config = config or StrategistConfig()

    def vocabulary(self) -> tuple[PlannedStage, ...]:
        worst = RiskProfile(Level.CRITICAL, 1.0, 1.0, 1.0, 1.0)
        return (
            self._after(worst, 0.0, strict=True).stages + self._after(RiskProfile(), 0.5, strict=False).stages
        )

    def threshold(self, base: float, trust: float, strict: bool) -> float:
        """`base` moved by `trust` and, where the stricter plan is due, lowered; within [.05, .95]."""
        moved = base + self.config.trust_swing * (trust - 0.5)
        return min(0.95, max(0.05, moved * (self.config.strict_factor if strict else 1.0)))

    def plan(self, profile: RiskProfile, trust: float, phase: Phase) -> DefensePlan:
        strict = bool(profile.fallback)
        plan = (
            self._before(profile, trust, strict) if phase == "before" else self._after(profile, trust, strict)
        )
        if strict:
            note = f"controller answer not used ({profile.fallback}): the stricter rule-based plan holds"
            plan = replace(plan, reasons=(note, *plan.reasons))
        return plan

    def _before(self, profile: RiskProfile, trust: float, strict: bool) -> DefensePlan:
        config = self.config
        if trust < config.banned and profile.level is Level.CRITICAL:
            return DefensePlan(refuse=True, reasons=(f"critical risk from a user of trust {trust:.2f}",))
        limit = self.threshold(config.membership, trust, strict)
        epsilon: float | None = None
        reasons: list[str] = []
        if profile.membership >= limit:
            critical = profile.level is Level.CRITICAL
            epsilon = config.epsilon_critical if critical else config.epsilon_elevated
            reasons.append(f"membership risk {profile.membership:.2f} reaches {limit:.2f}")
        if trust < config.distrusted:
            epsilon = min(epsilon or config.epsilon_distrusted, config.epsilon_distrusted)
            reasons.append(f"trust {trust:.2f} is below {config.distrusted:.2f}")
        privacy = None if epsilon is None else PrivacyRequest(config.mechanism, epsilon)
        return DefensePlan(privacy, reasons=tuple(reasons))

    def _after(self, profile: RiskProfile, trust: float, strict: bool) -> DefensePlan:
        config = self.config
        stages: list[PlannedStage] = []
        reasons: list[str] = []
        limit = self.threshold(config.poisoning, trust, strict)
        if profile.poisoning >= limit or strict:
            stages.append(
                PlannedStage(config.filter_stage, Hook.POST_RETRIEVAL, dict(config.filter_parameters))
            )
            reasons.append(f"poisoning risk {profile.poisoning:.2f} against {limit:.2f}")
        limit = self.threshold(config.membership, trust, strict)
        membership = profile.membership >= limit or trust < config.distrusted
        if membership:
            stages.append(PlannedStage("quotation_guard", Hook.PRE_GENERATION))
            reasons.append(f"membership risk {profile.membership:.2f} against {limit:.2f}, trust {trust:.2f}")
        limit = self.threshold(config.leakage, trust, strict)
        leaking = max(profile.leakage, profile.injection)
        leak = leaking >= limit
        stages.append(PlannedStage("injection_guard", Hook.PRE_GENERATION))
        if leak and config.attention_stage:
            stages.append(PlannedStage(config.attention_stage, Hook.PRE_GENERATION))
        span = config.audit_span_strict if leak or membership else config.audit_span
        stages.append(PlannedStage("leakage_audit", Hook.POST_GENERATION, {"max_span": span}))
        if leak:
            reasons.append(f"leakage risk {leaking:.2f} against {limit:.2f}, level {profile.level.name}")
        return DefensePlan(None, tuple(stages), reasons=tuple(reasons))


class _Answer(StrictModel):
    """What the Strategist's model must answer."""

    token: str
    privacy: Literal["none", "elevated", "critical"]
    filter_documents: bool
    hide_quoted_documents: bool
    strict_audit: bool
    reason: str = Field(max_length=300)


_TASK = (
    "You choose defenses for one question to a document-retrieval system from a risk profile. privacy: "
    "noise on retrieval against membership inference (none, elevated, critical); filter_documents: remove "
    "planted documents; hide_quoted_documents: withhold documents that the question already quotes; "
    "strict_audit: cut recited text out of the answer. Defenses cost answers: choose only what the profile "
    "warrants. Answer with one JSON object with the keys token, privacy, filter_documents, "
    "hide_quoted_documents, strict_audit, reason (one short sentence) and nothing else."
)


class LLMStrategist:
    """Asks a language model; its plan can add to the rule-based plan, never take away from it.

    A failed, late or malformed answer gives the stricter rule-based plan.

    Args:
        llm: the controller model.
        rules: the plan that holds in any case.
        deadline_s: seconds after which the answer is not waited for.
    """

    def __init__(self, llm: LLM, rules: RuleStrategist | None = None, deadline_s: float = 5.0) -> None:
        self.rules = rules or RuleStrategist()
        self.controller = Controller(llm, deadline_s)

    @property
    def failures(self) -> Mapping[str, int]:
        """How many answers were not used, by reason."""
        return self.controller.failures

    def vocabulary(self) -> tuple[PlannedStage, ...]:
        return self.rules.vocabulary()

    def plan(self, profile: RiskProfile, trust: float, phase: Phase) -> DefensePlan:
        data = {
            "pass": phase,
            "trust": round(trust, 3),
            "level": profile.level.name,
            "p_mia": round(profile.membership, 3),
            "p_poison": round(profile.poisoning, 3),
            "p_leak": round(max(profile.leakage, profile.injection), 3),
        }
        answer, problem = self.controller.ask(_TASK, data, _Answer)
        if answer is None:
            return self.rules.plan(replace(profile, fallback=profile.fallback or problem), trust, phase)
        plan = self.rules.plan(_raised(profile, answer, phase), trust, phase)
        return replace(plan, reasons=(f"controller: {' '.join(answer.reason.split())}", *plan.reasons))


def _raised(profile: RiskProfile, answer: _Answer, phase: Phase) -> RiskProfile:
    """`profile` with certainty where the model wants a defense: the rules then choose it."""
    hide = answer.privacy != "none" if phase == "before" else answer.hide_quoted_documents
    return replace(
        profile,
        level=Level.CRITICAL if phase == "before" and answer.privacy == "critical" else profile.level,
        membership=1.0 if hide else profile.membership,
        poisoning=1.0 if answer.filter_documents else profile.poisoning,
        leakage=1.0 if answer.strict_audit else profile.leakage,
    )
