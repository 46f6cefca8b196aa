from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from aggregator.breaker import CircuitBreaker
from core.errors import ConfigError


class Clock:
    def __init__(self) -> None:
        self.now = 100.0

    def __call__(self) -> float:
        return self.now


def test_it_opens_after_failures_in_a_row_and_a_probe_closes_it() -> None:
    clock = Clock()
    breaker = CircuitBreaker(3, 10.0, clock)
    for kind in ("deadline", "unavailable"):
        assert breaker.allow()
        breaker.failed(kind)
    breaker.replied()
    for _ in range(3):
        assert breaker.allow()
        breaker.failed("unavailable")
    assert (breaker.state, breaker.in_a_row, breaker.last) == ("open", 3, "unavailable")
    assert not breaker.allow()
    clock.now += 10.0
    assert breaker.state == "half_open"
    assert breaker.allow()
    assert not breaker.allow(), "one probe at a time"
    breaker.replied()
    assert (breaker.state, breaker.in_a_row) == ("closed", 0)
    assert breaker.allow()


def test_a_failed_probe_opens_it_again_and_one_that_was_left_may_be_repeated() -> None:
    clock = Clock()
    breaker = CircuitBreaker(1, 5.0, clock)
    breaker.failed("internal")
    clock.now += 5.0
    assert breaker.allow()
    breaker.left()
    assert breaker.allow()
    breaker.failed("internal")
    assert breaker.state == "open"
    clock.now += 4.9
    assert not breaker.allow()
    clock.now += 0.2
    assert breaker.allow()


@given(st.lists(st.booleans(), max_size=50))
def test_zero_never_opens(replies: list[bool]) -> None:
    breaker = CircuitBreaker(0)
    for good in replies:
        assert breaker.allow()
        breaker.replied() if good else breaker.failed("deadline")
    assert breaker.state == "closed"


@given(st.lists(st.booleans(), max_size=50), st.integers(1, 5))
def test_it_is_open_only_after_that_many_in_a_row(replies: list[bool], failures: int) -> None:
    breaker = CircuitBreaker(failures, 1e9, Clock())
    row = 0
    for good in replies:
        if not breaker.allow():
            break
        row = 0 if good else row + 1
        breaker.replied() if good else breaker.failed("deadline")
        assert (breaker.state == "open") == (row >= failures)


@pytest.mark.parametrize(("failures", "reset_s"), [(-1, 1.0), (1, 0.0), (1, float("nan"))])
def test_bad_settings(failures: int, reset_s: float) -> None:
    with pytest.raises(ConfigError):
        CircuitBreaker(failures, reset_s)
