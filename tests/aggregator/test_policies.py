"""Policies by name: split from the floor, strictly configured, opened with what they need."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from aggregator.config import AggregatorConfig, StageSpec
from aggregator.policies import FixedOptions, fixed_strategist, open_policy, split
from aggregator.reputation import Reputation
from aggregator.state import open_trust
from core.embedding.hashing import HashingEmbedder
from core.errors import ConfigError, DataError
from core.llm import Capability
from core.records import PrivacyRequest
from core.stage import Resources
from defenses.ado.calibrate import DEFAULT, save
from defenses.ado.plan import RiskProfile
from tests.defenses.ado.test_sentinel import ScriptedLLM, reply

QUIET = {"plan": {"filter_stage": "quotation_guard"}}


def ado(**options: object) -> StageSpec:
    return StageSpec(name="ado", options={**QUIET, **options})


def opened(spec: StageSpec, llm=None, **rest):
    return open_policy(spec, Resources(embedder=HashingEmbedder(), llm=llm), Reputation(), **rest)


def test_the_other_defenses_are_the_floor() -> None:
    config = AggregatorConfig(sources={"a": "127.0.0.1:1"}, defenses=["scr", "ado", "leakage_audit"])
    floor, policy = split(config.defenses)
    assert [spec.name for spec in floor] == ["scr", "leakage_audit"]
    assert policy is not None
    assert policy.name == "ado"
    assert split(())[1] is None
    with pytest.raises(ConfigError, match="one policy at a time"):
        split([StageSpec(name="ado"), StageSpec(name="static")])
    with pytest.raises(ConfigError, match="has no hook"):
        split([StageSpec(name="ado", hook="pre_generation")])


def test_options_are_strict() -> None:
    with pytest.raises(ConfigError, match="ado: unknown key 'sentinal'"):
        opened(ado(sentinal="llm"))
    with pytest.raises(ConfigError, match=r"plan\.membership"):
        opened(StageSpec(name="ado", options={"plan": {"membership": 2}}))
    with pytest.raises(ConfigError, match="the aggregator has no llm"):
        opened(ado(sentinel="llm"))
    with pytest.raises(DataError, match="no such calibration"):
        opened(ado(calibration="none.json"))
    with pytest.raises(ConfigError, match="against must name one"):
        opened(StageSpec(name="targeted", options=QUIET))


def test_state_and_calibration(tmp_path: Path) -> None:
    save(DEFAULT, tmp_path / "c.json")
    orchestra = opened(ado(calibration=str(tmp_path / "c.json")), state=tmp_path)
    orchestra.trust.update("ann", 0.1, 0.0)
    orchestra.close()
    assert open_trust(tmp_path).score("ann") == 0.6


def test_controller_models() -> None:
    orchestra = opened(ado(sentinel="llm", strategist="llm"), llm=ScriptedLLM(reply()))
    assert type(orchestra.sentinel).__name__ == "LLMSentinel"
    assert type(orchestra.strategist).__name__ == "LLMStrategist"


def test_fixed_policies() -> None:
    quiet = RiskProfile()
    everything = fixed_strategist(FixedOptions())
    assert everything.plan(quiet, 0.5, "before").privacy == PrivacyRequest("laplace", 3.0)
    assert [s.name for s in everything.plan(quiet, 0.5, "after").stages] == ["trustrag", "leakage_audit"]
    poison = fixed_strategist(FixedOptions(against=("poisoning",)))
    assert poison.plan(quiet, 0.5, "before").privacy is None
    assert [s.name for s in poison.vocabulary()] == ["trustrag"]
    looking = ScriptedLLM(reply())
    looking.capabilities = frozenset({Capability.CHAT, Capability.ATTENTION})
    names = [s.name for s in fixed_strategist(FixedOptions(against=("leakage",)), looking).vocabulary()]
    assert names == ["attention_variance", "leakage_audit"]
    assert "always on against poisoning" in json.dumps(poison.plan(quiet, 0.5, "after").reasons)
