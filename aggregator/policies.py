"""Defense policies by name (ADO section 3.3): `ado`, `static` and `targeted` among the defenses.

A policy is no stage. It stands in the list of defenses like one; the other names of the list are the
floor that runs whatever the policy decides.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, Literal

from pydantic import Field

from aggregator.config import StageSpec
from aggregator.orchestration import Orchestrator
from aggregator.reputation import Reputation
from aggregator.state import open_trust
from core.config import StrictModel, parse
from core.errors import ConfigError
from core.llm import LLM, Capability
from core.records import PrivacyRequest
from core.stage import Hook, Resources
from defenses.ado.calibrate import DEFAULT, read
from defenses.ado.plan import DefensePlan, PlannedStage
from defenses.ado.sentinel import LLMSentinel, RuleSentinel, Sentinel, SentinelConfig
from defenses.ado.signals import QueryHistory
from defenses.ado.strategist import (
    FixedStrategist,
    LLMStrategist,
    RuleStrategist,
    Strategist,
    StrategistConfig,
)
from defenses.ado.trust import TrustConfig

Threat = Literal["poisoning", "membership", "leakage"]
_ALL: tuple[Threat, ...] = ("poisoning", "membership", "leakage")


class AdoOptions(StrictModel):
    """Options of the policy `ado`.

    `sentinel` and `strategist`: `rules` or `llm` (the aggregator's own llm; `deadline_s` per answer).
    `calibration`: what `scr ado calibrate` wrote; None takes wide ranges that fit nowhere in
    particular. `history`: queries remembered per user.
    """

    sentinel: Literal["rules", "llm"] = "rules"
    strategist: Literal["rules", "llm"] = "rules"
    deadline_s: float = Field(default=5.0, gt=0, le=120)
    calibration: Path | None = None
    history: int = Field(default=10, ge=1, le=1000)
    risk: SentinelConfig = SentinelConfig()
    plan: StrategistConfig = StrategistConfig()
    trust: TrustConfig = TrustConfig()


class FixedOptions(StrictModel):
    """Options of `static` (against everything) and `targeted` (against what is named), for every question."""

    against: tuple[Threat, ...] = _ALL
    plan: StrategistConfig = StrategistConfig()


POLICIES = frozenset({"ado", "static", "targeted"})


def split(specs: Sequence[StageSpec]) -> tuple[list[StageSpec], StageSpec | None]:
    """(stages of the floor, the policy or None) of a list of defenses.

    Raises:
        ConfigError: two policies, or a policy at a hook.
    """
    floor = [spec for spec in specs if spec.name not in POLICIES]
    policies = [spec for spec in specs if spec.name in POLICIES]
    if len(policies) > 1:
        raise ConfigError(f"one policy at a time, not both {policies[0].name!r} and {policies[1].name!r}")
    if policies and policies[0].hook is not None:
        raise ConfigError(f"policy {policies[0].name!r} has no hook: it chooses stages for all of them")
    return floor, policies[0] if policies else None


def open_policy(
    spec: StageSpec,
    resources: Resources,
    reputation: Reputation,
    *,
    floor: Sequence[StageSpec] = (),
    state: Path | None = None,
    clock: Callable[[], float] = time.monotonic,
) -> Orchestrator:
    """The orchestrator that `spec` describes; trust persists in `state`, in memory where None.

    `clock` (seconds) times the intervals between a user's queries.

    Raises:
        ConfigError: a wrong option, a missing stage, or a model that is asked for and not there.
        DataError: the calibration file is missing or broken.
    """
    names = frozenset(stage.name for stage in floor)
    if spec.name == "ado":
        options = parse(AdoOptions, spec.options, "ado")
        trust = open_trust(state, options.trust)
        sentinel, strategist = _control(options, resources.llm)
        history = QueryHistory(options.history)
        return Orchestrator(
            resources, reputation, sentinel, strategist, trust, history, floor=names, clock=clock
        )
    fixed = parse(FixedOptions, spec.options, spec.name)
    if spec.name == "targeted" and len(fixed.against) != 1:
        raise ConfigError("targeted: against must name one of poisoning, membership, leakage")
    return Orchestrator(
        resources, reputation, RuleSentinel(), fixed_strategist(fixed, resources.llm), floor=names
    )


def fixed_strategist(options: FixedOptions, llm: LLM | None = None) -> FixedStrategist:
    """The constant plan against the named threats; attention is filtered where a model shows its own."""
    plan = options.plan
    privacy = None
    stages: list[PlannedStage] = []
    if "membership" in options.against:
        privacy = PrivacyRequest(plan.mechanism, plan.epsilon_elevated)
    if "poisoning" in options.against:
        stages.append(PlannedStage(plan.filter_stage, Hook.POST_RETRIEVAL, dict(plan.filter_parameters)))
    if "leakage" in options.against:
        attention = plan.attention_stage or _attention(llm)
        if attention:
            stages.append(PlannedStage(attention, Hook.PRE_GENERATION))
        stages.append(
            PlannedStage("leakage_audit", Hook.POST_GENERATION, {"max_span": plan.audit_span_strict})
        )
    reason = (f"always on against {', '.join(options.against)}",)
    return FixedStrategist(
        DefensePlan(privacy, reasons=reason), DefensePlan(None, tuple(stages), reasons=reason)
    )


def with_options(spec: StageSpec, extra: Mapping[str, Any]) -> StageSpec:
    """`spec` with `extra` options under its own ones."""
    return spec.model_copy(update={"options": {**extra, **spec.options}})


def _control(options: AdoOptions, llm: LLM | None) -> tuple[Sentinel, Strategist]:
    calibration = DEFAULT if options.calibration is None else read(options.calibration)
    plan = options.plan
    if not plan.attention_stage and _attention(llm):
        plan = plan.model_copy(update={"attention_stage": _attention(llm)})
    rules, planner = RuleSentinel(calibration, options.risk), RuleStrategist(plan)
    if llm is None and "llm" in (options.sentinel, options.strategist):
        raise ConfigError("ado: sentinel or strategist is llm, but the aggregator has no llm")
    sentinel: Sentinel = rules
    strategist: Strategist = planner
    if llm is not None and options.sentinel == "llm":
        sentinel = LLMSentinel(llm, rules, options.deadline_s)
    if llm is not None and options.strategist == "llm":
        strategist = LLMStrategist(llm, planner, options.deadline_s)
    return sentinel, strategist


def _attention(llm: LLM | None) -> str:
    return "attention_variance" if llm is not None and Capability.ATTENTION in llm.capabilities else ""
