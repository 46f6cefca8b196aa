"""The Strategist: plans follow risk, trust moves thresholds, a model adds and never takes away."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from core.records import PrivacyRequest
from core.stage import Hook
from defenses.ado.plan import DefensePlan, Level, PlannedStage, RiskProfile
from defenses.ado.strategist import LLMStrategist, RuleStrategist, StrategistConfig
from tests.defenses.ado.test_sentinel import ScriptedLLM, failing, token_of

CALM = RiskProfile()
PROBE = RiskProfile(Level.CRITICAL, membership=0.9)
POISON = RiskProfile(Level.ELEVATED, poisoning=0.5)
LEAK = RiskProfile(Level.ELEVATED, leakage=0.7)


def names(plan: DefensePlan) -> list[str]:
    return [stage.name for stage in plan.stages]


def span(plan: DefensePlan) -> int:
    return next(s.parameters["max_span"] for s in plan.stages if s.name == "leakage_audit")


def test_calm_traffic_gets_what_costs_nothing() -> None:
    rules = RuleStrategist()
    assert rules.plan(CALM, 0.5, "before") == DefensePlan()
    after = rules.plan(CALM, 0.5, "after")
    assert names(after) == ["injection_guard", "leakage_audit"]
    assert span(after) == 100


def test_membership_risk_asks_for_privacy_and_hides_quoted_documents() -> None:
    rules = RuleStrategist()
    assert rules.plan(PROBE, 0.5, "before").privacy == PrivacyRequest("laplace", 1.0)
    mild = RiskProfile(Level.ELEVATED, membership=0.5)
    assert rules.plan(mild, 0.5, "before").privacy == PrivacyRequest("laplace", 3.0)
    assert "quotation_guard" in names(rules.plan(PROBE, 0.5, "after"))
    assert "trustrag" not in names(rules.plan(PROBE, 0.5, "after"))


def test_poisoning_and_leakage_get_their_own_defense() -> None:
    rules = RuleStrategist(StrategistConfig(attention_stage="attention_variance"))
    assert names(rules.plan(POISON, 0.5, "after")) == ["trustrag", "injection_guard", "leakage_audit"]
    planted = RiskProfile(Level.CRITICAL, poisoning=0.99)
    assert span(rules.plan(planted, 0.5, "after")) == 100  # the user did nothing: no answer is cut short
    leak = rules.plan(LEAK, 0.5, "after")
    assert names(leak) == ["injection_guard", "attention_variance", "leakage_audit"]
    assert span(leak) == 12
    assert leak.stages[-1].hook is Hook.POST_GENERATION


def test_trust_moves_the_threshold() -> None:
    rules = RuleStrategist()
    mild = RiskProfile(membership=0.4)
    assert rules.plan(mild, 1.0, "before").privacy is None
    assert rules.plan(mild, 0.3, "before").privacy is not None


def test_distrusted_users_get_privacy_whatever_they_ask_and_banned_ones_are_refused() -> None:
    rules = RuleStrategist()
    assert rules.plan(CALM, 0.1, "before").privacy == PrivacyRequest("laplace", 0.5)
    assert rules.plan(PROBE, 0.01, "before").refuse
    assert not rules.plan(CALM, 0.01, "before").refuse


def test_every_choice_explains_itself() -> None:
    text = RuleStrategist().plan(PROBE, 0.1, "before").explain()
    assert text.startswith("laplace(epsilon=0.5): membership risk 0.90 reaches")
    assert "trust 0.10 is below 0.20" in text
    assert DefensePlan().explain() == "no defense"
    assert (
        PlannedStage("a", Hook.POST_RETRIEVAL, {"x": 1, "y": 2}).identity
        == PlannedStage("a", Hook.POST_RETRIEVAL, {"y": 2, "x": 1}).identity
    )


def at_least_as_strict(plan: DefensePlan, base: DefensePlan) -> bool:
    if base.privacy is not None and (plan.privacy is None or plan.privacy.epsilon > base.privacy.epsilon):
        return False
    if base.refuse and not plan.refuse:
        return False
    if not set(names(base)) <= set(names(plan)):
        return False
    return "leakage_audit" not in names(base) or span(plan) <= span(base)


profiles = st.builds(
    RiskProfile,
    level=st.sampled_from(Level),
    membership=st.floats(0, 1),
    poisoning=st.floats(0, 1),
    leakage=st.floats(0, 1),
    injection=st.floats(0, 1),
)


def answering(**fields):
    def answer(messages) -> str:
        full = {
            "privacy": "none",
            "filter_documents": False,
            "hide_quoted_documents": False,
            "strict_audit": False,
            "reason": "it looks harmless",
            **fields,
        }
        return json.dumps({"token": token_of(messages), **full})

    return answer


@given(profiles, st.floats(0, 1), st.sampled_from(["before", "after"]))
def test_a_careless_or_failing_model_never_weakens_the_rules(profile, trust: float, phase) -> None:
    base = RuleStrategist().plan(profile, trust, phase)
    careless = LLMStrategist(ScriptedLLM(answering())).plan(profile, trust, phase)
    assert at_least_as_strict(careless, base)
    failed = LLMStrategist(ScriptedLLM(failing)).plan(profile, trust, phase)
    assert at_least_as_strict(failed, base)


@pytest.mark.parametrize("reason", ["timeout", "malformed", "echo"])
def test_after_a_failed_sentinel_the_stricter_plan_holds(reason: str) -> None:
    rules = RuleStrategist()
    mild = RiskProfile(Level.ELEVATED, membership=0.3, fallback=reason)
    before = rules.plan(mild, 0.5, "before")
    assert before.privacy is not None
    assert reason in before.reasons[0]
    after = rules.plan(mild, 0.5, "after")
    assert {"trustrag", "quotation_guard"} <= set(names(after))


def test_a_model_can_add_defenses_and_sees_no_text() -> None:
    llm = ScriptedLLM(answering(filter_documents=True, strict_audit=True, hide_quoted_documents=True))
    plan = LLMStrategist(llm).plan(CALM, 0.9, "after")
    assert set(names(plan)) == {"trustrag", "quotation_guard", "injection_guard", "leakage_audit"}
    assert span(plan) == 12
    assert plan.reasons[0] == "controller: it looks harmless"
    privacy = LLMStrategist(ScriptedLLM(answering(privacy="critical"))).plan(CALM, 0.9, "before")
    assert privacy.privacy == PrivacyRequest("laplace", 1.0)
    assert set(json.loads(llm.seen[0][1].content.removeprefix("<data>").removesuffix("</data>"))) == {
        "pass",
        "trust",
        "level",
        "p_mia",
        "p_poison",
        "p_leak",
    }


def test_an_unknown_choice_is_malformed() -> None:
    strategist = LLMStrategist(ScriptedLLM(answering(privacy="none, thanks")))
    plan = strategist.plan(CALM, 0.5, "after")
    assert strategist.failures == {"malformed": 1}
    assert "trustrag" in names(plan)
