"""Retries and hedges against real gRPC sources: what is counted is what arrives."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import ExitStack
from typing import Any

import grpc
import pytest

from aggregator.calls import CallPolicy, ask_all
from aggregator.source_client import SourceClient
from core.errors import ConfigError
from core.records import PrivacyRequest, Query, SourceFailure, SourceReply
from tests.aggregator.parts import answering, raw_source

QUERY = Query("where is the archive", "r1")


@pytest.fixture
def stack() -> Iterator[ExitStack]:
    with ExitStack() as open_things:
        yield open_things


class Counting:
    """A source that does the n-th of `acts` at the n-th call, and the last of them from then on."""

    def __init__(self, stack: ExitStack, *acts: Any) -> None:
        self.calls = 0
        self._acts = acts
        self._lock = threading.Lock()
        self.hung = threading.Event()
        stack.callback(self.hung.set)
        self.client = SourceClient("a", stack.enter_context(raw_source(self._behave)))
        stack.callback(self.client.close)

    def _behave(self, request: Any, context: grpc.ServicerContext) -> bytes:
        with self._lock:
            act = self._acts[min(self.calls, len(self._acts) - 1)]
            self.calls += 1
        if act == "hang":
            self.hung.wait(60)
            return b""
        if isinstance(act, grpc.StatusCode):
            context.abort(act, "as told")
        return answering("a", [act])(request, context)


def one(source: Counting, deadline_s: float = 60.0, **policy: Any) -> SourceReply | SourceFailure:
    asked_privacy = policy.pop("privacy", None)
    (result,) = ask_all([source.client], QUERY, 5, deadline_s, asked_privacy, CallPolicy(**policy))
    return result


@pytest.mark.parametrize("code", [grpc.StatusCode.UNAVAILABLE, grpc.StatusCode.RESOURCE_EXHAUSTED])
def test_what_was_gone_is_asked_again(stack: ExitStack, code: grpc.StatusCode) -> None:
    source = Counting(stack, code, code, "found")
    result = one(source, retries=2, backoff_s=0.01)
    assert isinstance(result, SourceReply)
    assert [d.text for d in result.documents] == ["found"]
    assert source.calls == 3


def test_only_so_often(stack: ExitStack) -> None:
    source = Counting(stack, grpc.StatusCode.UNAVAILABLE)
    result = one(source, retries=2, backoff_s=0.01)
    assert isinstance(result, SourceFailure)
    assert result.kind == "unavailable"
    assert source.calls == 3


@pytest.mark.parametrize("code", [grpc.StatusCode.INTERNAL, grpc.StatusCode.PERMISSION_DENIED])
def test_what_was_judged_is_not_asked_again(stack: ExitStack, code: grpc.StatusCode) -> None:
    source = Counting(stack, code, "found")
    assert isinstance(one(source, retries=5, backoff_s=0.01), SourceFailure)
    assert source.calls == 1


def test_a_retry_that_would_come_after_the_deadline_is_not_made(stack: ExitStack) -> None:
    source = Counting(stack, grpc.StatusCode.UNAVAILABLE, "found")
    result = one(source, deadline_s=2.0, retries=1, backoff_s=3.0)
    assert isinstance(result, SourceFailure)
    assert result.kind == "unavailable"
    assert source.calls == 1


def test_a_slow_source_is_asked_twice_and_counts_once(stack: ExitStack) -> None:
    source = Counting(stack, "hang", "found")
    result = one(source, hedge_after_s=0.05)
    assert isinstance(result, SourceReply)
    assert [d.text for d in result.documents] == ["found"]
    assert source.calls == 2


def test_a_hedge_that_fails_leaves_the_first_call_its_chance(stack: ExitStack) -> None:
    source = Counting(stack, "hang", grpc.StatusCode.INTERNAL)
    waiter = threading.Timer(0.5, source.hung.set)
    waiter.start()
    result = one(source, hedge_after_s=0.05)
    waiter.join()
    assert isinstance(result, SourceFailure)
    assert result.kind in ("identity", "malformed")  # what the first call brought in the end: b""
    assert source.calls == 2


def test_privacy_is_never_asked_for_twice(stack: ExitStack) -> None:
    source = Counting(stack, grpc.StatusCode.UNAVAILABLE, "found")
    privacy = PrivacyRequest("noisy_top_k", 1.0)
    result = one(source, retries=3, backoff_s=0.0, hedge_after_s=0.001, privacy=privacy)
    assert isinstance(result, SourceFailure)
    assert source.calls == 1


def test_results_stand_in_the_order_of_the_sources(stack: ExitStack) -> None:
    names = [f"s{i}" for i in range(8)]
    clients = [SourceClient(n, stack.enter_context(raw_source(answering(n, [n])))) for n in names]
    for client in clients:
        stack.callback(client.close)
    assert [result.source_id for result in ask_all(clients, QUERY, 5, 60.0)] == names
    assert ask_all([], QUERY, 5, 60.0) == []


def test_bad_policies() -> None:
    for bad in ({"retries": -1}, {"backoff_s": -0.1}, {"hedge_after_s": 0.0}):
        with pytest.raises(ConfigError):
            CallPolicy(**bad)
