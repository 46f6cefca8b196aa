"""Stages by name, and how a list of them becomes what runs at each hook of a question's journey."""

from __future__ import annotations

import inspect
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from aggregator.config import StageSpec
from aggregator.reputation import Reputation
from core.errors import ConfigError
from core.pipeline import Pipeline, PipelineStage
from core.registry import Registry
from core.stage import AnswerStage, Hook, QueryStage, Resources
from defenses import STAGES as DEFENSES

STAGES = Registry(
    "defense",
    "securecollarag.defenses",
    {
        **DEFENSES,
        "scr": "aggregator.verification:VerificationStage",
        "agreement": "aggregator.verification:AgreementStage",
    },
)
VERIFIERS = frozenset({"scr", "agreement"})
_DOCUMENT_HOOKS = (Hook.POST_RETRIEVAL, Hook.PRE_GENERATION)


@dataclass(frozen=True)
class Guard:
    """A stage that judges the query before any source is asked."""

    stage: QueryStage
    required: bool = False


@dataclass(frozen=True)
class Auditor:
    """A stage that judges the answer before it leaves."""

    stage: AnswerStage
    required: bool = False


@dataclass(frozen=True)
class StageSet:
    """What runs at each hook, in order."""

    guards: tuple[Guard, ...] = ()
    pipeline: Pipeline = field(default_factory=Pipeline)
    auditors: tuple[Auditor, ...] = ()


def build_stages(specs: Sequence[StageSpec], resources: Resources, reputation: Reputation) -> StageSet:
    """The stages that `specs` name, made and put in their places.

    A stage stands at the hook of its spec, else at its own attribute `hook`, else at the first hook
    where it can judge what it judges; within a hook the order of `specs` counts. A factory with a
    parameter `reputation` is given it.

    Raises:
        ConfigError: unknown stage, two stages of one name, a wrong option or hook, or no stage at all.
    """
    names = [spec.name for spec in specs]
    for name in names:
        if names.count(name) > 1:
            raise ConfigError(f"defense {name!r} is named twice")
    made = [(_hook(spec, stage), spec.required, stage) for spec, stage in _make(specs, resources, reputation)]
    return StageSet(
        guards=tuple(Guard(stage, required) for hook, required, stage in made if hook is Hook.PRE_RETRIEVAL),
        pipeline=Pipeline(
            PipelineStage(stage, hook, required)
            for wanted in _DOCUMENT_HOOKS
            for hook, required, stage in made
            if hook is wanted
        ),
        auditors=tuple(
            Auditor(stage, required) for hook, required, stage in made if hook is Hook.POST_GENERATION
        ),
    )


def keeps_reputation(stage: Any) -> bool:
    """Whether `stage` updates the reputation itself, so that the aggregator must not."""
    return bool(getattr(stage, "updates_reputation", stage.name in VERIFIERS))


def _make(
    specs: Sequence[StageSpec], resources: Resources, reputation: Reputation
) -> list[tuple[StageSpec, Any]]:
    made = []
    for spec in specs:
        factory = STAGES.get(spec.name)
        wants = "reputation" in inspect.signature(factory).parameters
        stage = factory(spec.options, resources, **({"reputation": reputation} if wants else {}))
        if not (isinstance(getattr(stage, "name", None), str) and callable(getattr(stage, "run", None))):
            raise ConfigError(f"defense {spec.name!r} is no stage: it needs a name and a method run")
        made.append((spec, stage))
    return made


def _hook(spec: StageSpec, stage: Any) -> Hook:
    """Where `stage` stands; what its `run` takes says what it can judge."""
    takes = inspect.signature(stage.run).parameters
    if "answer" in takes:
        possible: tuple[Hook, ...] = (Hook.POST_GENERATION,)
    elif "query" in takes:
        possible = (Hook.PRE_RETRIEVAL,)
    else:
        possible = _DOCUMENT_HOOKS
    hook = spec.hook or Hook(getattr(stage, "hook", possible[0]))
    if hook not in possible:
        right = " or ".join(possible)
        raise ConfigError(f"defense {spec.name!r} cannot stand at {hook}, only at {right}")
    return hook
