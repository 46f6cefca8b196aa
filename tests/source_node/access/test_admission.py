"""Who is admitted, and how often."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from core.config import parse
from core.errors import AccessError, OverloadError
from source_node.access.admission import Admission, TokenBucket
from source_node.access.policy import AccessPolicy, Rate


class Clock:
    now = 100.0

    def __call__(self) -> float:
        return self.now


def admission(callers: dict, clock: Clock | None = None) -> Admission:
    policy = parse(AccessPolicy, {"callers": callers}, "test")
    return Admission(lambda: policy, clock or Clock())


def test_only_named_callers_are_admitted_without_regard_to_case() -> None:
    desk = admission({"Aggregator": {"top_k": 3}})
    assert desk.admit("aggregator").name == "Aggregator"
    assert desk.admit("AGGREGATOR").rule.top_k == 3
    for name in ("", "aggregator.example", "(anonymous)", "ag"):
        with pytest.raises(AccessError):
            desk.admit(name)
    assert admission({"(anonymous)": {}}).admit("").name == "(anonymous)"


def test_each_caller_has_a_rate_of_its_own() -> None:
    clock = Clock()
    desk = admission({"a": {"rate": {"per_second": 2, "burst": 3}}, "b": {"rate": 1}}, clock)
    for _ in range(3):
        desk.admit("A")
    with pytest.raises(OverloadError, match="more often than 2/s"):
        desk.admit("a")
    desk.admit("b")
    clock.now += 0.5
    desk.admit("a")
    with pytest.raises(OverloadError):
        desk.admit("a")


def test_the_policy_of_the_moment_counts() -> None:
    policies = [parse(AccessPolicy, {"callers": {"a": {"rate": {"per_second": 1, "burst": 1}}}}, "test")]
    desk = Admission(lambda: policies[-1], Clock())
    desk.admit("a")
    with pytest.raises(OverloadError):
        desk.admit("a")
    policies.append(parse(AccessPolicy, {"callers": {"a": {"rate": 5, "epsilon_budget": 2}}}, "test"))
    desk.admit("a")
    assert desk.epsilon_budget("a") == 2
    assert desk.epsilon_budget("stranger") is None
    assert desk.any_budget()
    policies.append(parse(AccessPolicy, {"callers": {}}, "test"))
    with pytest.raises(AccessError):
        desk.admit("a")
    assert not desk.any_budget()


@given(
    per_second=st.floats(0.1, 100),
    burst=st.integers(1, 20),
    gaps=st.lists(st.floats(-1.0, 3.0), max_size=60),
)
def test_no_window_lets_through_more_than_rate_and_burst(
    per_second: float, burst: int, gaps: list[float]
) -> None:
    bucket, now, latest, passed = TokenBucket(Rate(per_second=per_second, burst=burst), 0.0), 0.0, 0.0, 0
    for gap in gaps:
        now += gap
        latest = max(latest, now)
        passed += bucket.take(now)
        assert passed <= burst + per_second * latest + 1e-6
