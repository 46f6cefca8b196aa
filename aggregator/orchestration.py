"""Chooses each question's defenses: two passes of Sentinel and Strategist around the retrieval.

The orchestrator is no stage: it decides which stages run (ADO, arXiv 2604.20932, Alg. 3). The stages
that the aggregator is configured with are the floor: they run first and always, and what the plan
names comes on top, so no plan, and no model behind one, can leave them out.
"""

from __future__ import annotations

import threading
import time
from collections import OrderedDict
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from aggregator.config import StageSpec
from aggregator.reputation import Reputation
from aggregator.stages import StageSet, build_stages
from core.pipeline import Pipeline
from core.records import DocumentKey, PrivacyRequest, Query
from core.stage import Hook, Resources, StageInput
from defenses.ado.calibrate import DEFAULT, MIN_ROUNDS, Calibration, calibrate
from defenses.ado.plan import DefensePlan, PlannedStage, RiskProfile
from defenses.ado.sentinel import Observation, RuleSentinel, Sentinel
from defenses.ado.signals import (
    QueryHistory,
    QuerySignals,
    RetrievalSignals,
    as_mapping,
    query_signals,
    retrieval_signals,
)
from defenses.ado.strategist import RuleStrategist, Strategist
from defenses.ado.trust import TrustStore, delta

_KEPT_STAGES = 64  # built stages kept; a plan's parameters come from a short list
_STATE = "ado.calibration"
_MASKED = 0.05  # what a masked or refused answer costs, besides the risk itself (ours)


@dataclass(frozen=True)
class Orchestration:
    """One question in the control plane: what each pass saw, concluded and chose.

    `retrieval`, `after_profile` and `after_plan` are None until the second pass.
    """

    trust: float
    signals: QuerySignals
    before_profile: RiskProfile
    before_plan: DefensePlan
    retrieval: RetrievalSignals | None = None
    after_profile: RiskProfile | None = None
    after_plan: DefensePlan | None = None
    milliseconds: float = 0.0

    @property
    def privacy(self) -> PrivacyRequest | None:
        """What the sources are asked for."""
        return self.before_plan.privacy

    @property
    def refused(self) -> bool:
        """Whether the question is to be refused before any source is asked."""
        return self.before_plan.refuse

    def trail(self) -> dict[str, Any]:
        """Both passes as plain JSON, each plan with its reasons."""
        passes = [_pass("before", as_mapping(self.signals), self.before_profile, self.before_plan)]
        if self.retrieval is not None and self.after_profile is not None and self.after_plan is not None:
            seen = as_mapping(self.retrieval)
            passes.append(_pass("after", seen, self.after_profile, self.after_plan))
        return {"trust": self.trust, "milliseconds": round(self.milliseconds, 3), "passes": passes}


class Orchestrator:
    """Sentinel and Strategist around one aggregator's retrieval, with trust and history of its users.

    Safe for concurrent use.

    Args:
        resources: what planned stages are built with.
        reputation: for planned stages that keep one.
        sentinel: reads risk; None: rules with default ranges.
        strategist: makes plans; None: rules.
        trust: the users' standing; None: in memory.
        history: the users' recent queries.
        floor: names of the stages that the aggregator runs in any case: a plan does not run them again.
        clock: seconds, for the intervals between queries.

    Raises:
        ConfigError: a stage that a plan may name is unknown, or cannot be built.
    """

    def __init__(
        self,
        resources: Resources,
        reputation: Reputation,
        sentinel: Sentinel | None = None,
        strategist: Strategist | None = None,
        trust: TrustStore | None = None,
        history: QueryHistory | None = None,
        *,
        floor: frozenset[str] = frozenset(),
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self.sentinel = sentinel or RuleSentinel()
        self.strategist = strategist or RuleStrategist()
        self.trust = TrustStore() if trust is None else trust
        self.history = QueryHistory() if history is None else history
        self.floor = floor
        self._resources = resources
        self._reputation = reputation
        self._clock = clock
        self._built: OrderedDict[str, StageSet] = OrderedDict()
        self._lock = threading.Lock()
        self._learned: tuple[list[dict[str, float]], list[dict[str, float]]] | None = None
        for stage in self.strategist.vocabulary():
            self._build(stage)
        kept = reputation.state(_STATE)
        if kept is not None:
            self._calibrate(Calibration.model_validate_json(kept))

    def before_retrieval(self, query: Query) -> Orchestration:
        """First pass: the risk of the question itself, and what is asked of the sources."""
        start = time.perf_counter()
        now = self._clock()
        past = self.history.observe(query.user_id, query.text, now)
        trust = self.trust.score(query.user_id)
        signals = query_signals(query.text, past, now)
        profile = self.sentinel.assess(Observation(query.text, signals, None, trust))
        plan = self.strategist.plan(profile, trust, "before")
        return Orchestration(trust, signals, profile, plan, milliseconds=_since(start))

    def after_retrieval(
        self, first: Orchestration, given: StageInput, credibility: Mapping[DocumentKey, float] | None = None
    ) -> tuple[Orchestration, StageSet]:
        """Second pass: the risk seen with what was retrieved, and the stages that the plan adds.

        Args:
            first: what `before_retrieval` returned for this question.
            given: the fused round, before any stage.
            credibility: what the floor's verifier concluded, where it has run.
        """
        start = time.perf_counter()
        retrieval = retrieval_signals(given, credibility)
        seen = Observation(given.query.text, first.signals, retrieval, first.trust)
        profile = self.sentinel.assess(seen)
        plan = self.strategist.plan(profile, first.trust, "after")
        chosen = self.compose(plan)
        spent = first.milliseconds + _since(start)
        second = Orchestration(
            first.trust,
            first.signals,
            first.before_profile,
            first.before_plan,
            retrieval,
            profile,
            plan,
            spent,
        )
        return second, chosen

    def conclude(self, query: Query, done: Orchestration, *, masked: bool = False) -> float:
        """Eq. 3 with the user's risk in both passes; `masked`: an audit cut or refused the answer.

        Poisoned documents are the sources' doing and cost the user nothing; nor does a masked answer
        to a question without risk, for which a talkative reader is to blame. Returns the new trust.

        Raises:
            StoreError: the trust store cannot be written.
        """
        config = self.trust.config
        last = done.after_profile or done.before_profile
        blamed = masked and last.user_risk > config.knee
        d_post = delta(last.user_risk, config) - (_MASKED if blamed else 0.0)
        return self.trust.update(query.user_id, delta(done.before_profile.user_risk, config), d_post)

    def begin_warmup(self) -> None:
        """From here on `learn` collects what is normal."""
        self._learned = ([], [])

    def learn(self, given: StageInput) -> None:
        """Take in a clean round of a warm-up: its ranges replace the default ones at the end."""
        if self._learned is not None:
            self._learned[0].append(as_mapping(query_signals(given.query.text, (), 0.0)))
            self._learned[1].append(as_mapping(retrieval_signals(given)))

    def end_warmup(self) -> None:
        """Calibrate a rule-based Sentinel on what was learned, and keep that with the reputation.

        Fewer than `MIN_ROUNDS` rounds say nothing about a 99 % range and change nothing.
        """
        learned, self._learned = self._learned, None
        if learned is None or len(learned[0]) < MIN_ROUNDS:
            return
        found = calibrate(*learned)
        # warm-up rounds have no users, so nothing was learned of repetition and speed
        own = {name: found.ranges[name] for name in found.ranges if name not in ("overlap", "velocity")}
        found = found.model_copy(update={"ranges": {**DEFAULT.ranges, **own}})
        self._reputation.update({}, states={_STATE: found.model_dump_json().encode()})
        self._calibrate(found)

    def _calibrate(self, found: Calibration) -> None:
        rules = getattr(self.sentinel, "rules", self.sentinel)
        if isinstance(rules, RuleSentinel):
            rules.calibration = found

    def compose(self, plan: DefensePlan) -> StageSet:
        """The stages of `plan` in their places, hook by hook, without document stages of the floor."""
        sets = [self._build(stage) for stage in plan.stages if not self._in_floor(stage)]
        places = [place for chosen in sets for place in chosen.pipeline.stages]
        ordered = (
            place
            for hook in (Hook.POST_RETRIEVAL, Hook.PRE_GENERATION)
            for place in places
            if place.hook is hook
        )
        return StageSet(
            pipeline=Pipeline(ordered),
            auditors=tuple(auditor for chosen in sets for auditor in chosen.auditors),
        )

    def close(self) -> None:
        """Close the trust store."""
        self.trust.close()

    def _in_floor(self, stage: PlannedStage) -> bool:
        # an audit with tighter limits than the floor's runs as well: auditing twice does no harm
        return stage.name in self.floor and stage.hook is not Hook.POST_GENERATION

    def _build(self, stage: PlannedStage) -> StageSet:
        with self._lock:
            found = self._built.get(stage.identity)
            if found is None:
                spec = StageSpec(
                    name=stage.name, required=stage.required, hook=stage.hook, options=dict(stage.parameters)
                )
                found = build_stages([spec], self._resources, self._reputation)
                self._built[stage.identity] = found
            self._built.move_to_end(stage.identity)
            while len(self._built) > _KEPT_STAGES:
                self._built.popitem(last=False)
            return found


def _pass(name: str, signals: Mapping[str, float], profile: RiskProfile, plan: DefensePlan) -> dict[str, Any]:
    privacy = plan.privacy
    return {
        "pass": name,
        "level": profile.level.name,
        "risk": {
            "membership": profile.membership,
            "poisoning": profile.poisoning,
            "leakage": profile.leakage,
            "injection": profile.injection,
        },
        "signals": dict(signals),
        "evidence": dict(profile.evidence),
        "fallback": profile.fallback,
        "privacy": None if privacy is None else {"mechanism": privacy.mechanism, "epsilon": privacy.epsilon},
        "stages": [{"name": s.name, "hook": s.hook.value, **dict(s.parameters)} for s in plan.stages],
        "refuse": plan.refuse,
        "reasons": list(plan.reasons),
        "explained": plan.explain(),
    }


def _since(start: float) -> float:
    return 1000.0 * (time.perf_counter() - start)
