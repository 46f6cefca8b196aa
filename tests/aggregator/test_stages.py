from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pytest

from aggregator import stages
from aggregator.config import StageSpec
from aggregator.reputation import Reputation
from aggregator.stages import STAGES, build_stages, keeps_reputation
from core.errors import ConfigError
from core.registry import Registry
from core.stage import AnswerDecision, Hook, QueryDecision, Resources
from tests.aggregator.parts import PoisonStage


class Plain(PoisonStage):
    name = "plain"

    def __init__(self, config: Mapping[str, Any], resources: Resources) -> None:
        self.config = dict(config)
        self.resources = resources


class Late(Plain):
    name = "late"
    hook = Hook.PRE_GENERATION


class Remembering(Plain):
    name = "remembering"
    updates_reputation = True

    def __init__(self, config: Mapping[str, Any], resources: Resources, *, reputation: Reputation) -> None:
        super().__init__(config, resources)
        self.reputation = reputation


class AsksFirst(Plain):
    name = "asks_first"

    def run(self, query: Any) -> QueryDecision:
        return QueryDecision(query)


class ReadsLast(Plain):
    name = "reads_last"

    def run(self, query: Any, answer: str, documents: Any) -> AnswerDecision:
        return AnswerDecision(answer)


class NoStage:
    def __init__(self, config: Mapping[str, Any], resources: Resources) -> None:
        pass


@pytest.fixture(autouse=True)
def table(monkeypatch: pytest.MonkeyPatch) -> None:
    classes = (Plain, Late, Remembering, AsksFirst, ReadsLast)
    names = {cls.name: f"{__name__}:{cls.__name__}" for cls in classes}
    registry = Registry("defense", "securecollarag.none", {**names, "no_stage": f"{__name__}:NoStage"})
    monkeypatch.setattr(
        registry, "get", _finder({**{c.name: c for c in classes}, "no_stage": NoStage}, registry.get)
    )
    monkeypatch.setattr(stages, "STAGES", registry)


def _finder(found: Mapping[str, Any], otherwise: Any) -> Any:
    return lambda name: found[name] if name in found else otherwise(name)


def build(*specs: StageSpec | str) -> stages.StageSet:
    listed = [StageSpec(name=spec) if isinstance(spec, str) else spec for spec in specs]
    return build_stages(listed, Resources(seed=3), Reputation())


def test_every_stage_finds_its_place() -> None:
    made = build("late", "reads_last", "plain", "asks_first", "remembering")
    assert [guard.stage.name for guard in made.guards] == ["asks_first"]
    assert [(p.stage.name, p.hook) for p in made.pipeline.stages] == [
        ("plain", Hook.POST_RETRIEVAL),
        ("remembering", Hook.POST_RETRIEVAL),
        ("late", Hook.PRE_GENERATION),
    ]
    assert [auditor.stage.name for auditor in made.auditors] == ["reads_last"]


def test_a_spec_moves_a_stage_and_makes_it_required() -> None:
    made = build("late", StageSpec(name="plain", hook=Hook.PRE_GENERATION, required=True, options={"x": 1}))
    late, plain = made.pipeline.stages
    assert (late.stage.name, late.required) == ("late", False)
    assert (plain.stage.name, plain.hook, plain.required) == ("plain", Hook.PRE_GENERATION, True)
    assert plain.stage.config == {"x": 1}
    assert plain.stage.resources.seed == 3


def test_a_verifier_is_given_the_reputation_and_known_as_one() -> None:
    reputation = Reputation()
    made = build_stages([StageSpec(name="remembering"), StageSpec(name="plain")], Resources(), reputation)
    remembering, plain = (place.stage for place in made.pipeline.stages)
    assert remembering.reputation is reputation
    assert keeps_reputation(remembering)
    assert not keeps_reputation(plain)


@pytest.mark.parametrize(
    ("specs", "message"),
    [
        (["unheard_of"], "unknown defense 'unheard_of'"),
        (["plain", "plain"], "named twice"),
        (["no_stage"], "is no stage"),
        ([StageSpec(name="plain", hook=Hook.PRE_RETRIEVAL)], "cannot stand at pre_retrieval"),
        ([StageSpec(name="reads_last", hook=Hook.POST_RETRIEVAL)], "only at post_generation"),
    ],
)
def test_what_cannot_be_built_is_said(specs: list[StageSpec | str], message: str) -> None:
    with pytest.raises(ConfigError, match=message):
        build(*specs)


def test_the_real_table_holds_the_verifiers() -> None:
    assert {"scr", "agreement"} <= set(STAGES.names())
