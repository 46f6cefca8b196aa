"""The sources of a fan-out over time: left alone while they fail, drained, removed, met under new certificates."""

from __future__ import annotations

import time
from contextlib import ExitStack
from pathlib import Path

import grpc
import pytest

from aggregator.calls import CallPolicy
from aggregator.fan_out import FanOut
from aggregator.source_client import SourceClient
from core.errors import ConfigError
from core.records import Query
from protos import source_node_pb2
from tests.aggregator.parts import answering, raw_source
from tests.certificates import Authority

QUERY = Query("where is the archive", request_id="r1")


def test_a_source_that_keeps_failing_is_left_alone_until_a_probe_succeeds(stack: ExitStack) -> None:
    broken = [True]
    calls: list[str] = []

    def moody(request: source_node_pb2.RetrieveRequest, context: grpc.ServicerContext) -> bytes:
        calls.append(request.request_id)
        if broken[0]:
            context.abort(grpc.StatusCode.INTERNAL, "as told")
        return answering("moody", ["two"])(request, context)

    addresses = {
        "moody": stack.enter_context(raw_source(moody)),
        "a": stack.enter_context(raw_source(answering("a", ["one"]))),
    }
    asked = FanOut.connect(addresses, policy=CallPolicy(breaker_failures=2, breaker_reset_s=3600.0))
    stack.callback(asked.close)
    kinds = [asked.gather(QUERY, 5).failures[0].kind for _ in range(4)]
    assert kinds == ["internal", "internal", "circuit_open", "circuit_open"]
    assert len(calls) == 2
    (standing, _) = asked.standing()
    assert (standing.circuit, standing.failures, standing.last_failure) == ("open", 2, "internal")
    asked._members["moody"].breaker.reset_s = 1e-9
    assert asked.gather(QUERY, 5).failures[0].kind == "internal"  # the probe
    broken[0] = False
    assert len(asked.gather(QUERY, 5).replies) == 2
    assert [standing.circuit for standing in asked.standing()] == ["closed", "closed"]


def test_a_refusal_is_an_answer_to_the_breaker(stack: ExitStack) -> None:
    def refusing(request: source_node_pb2.RetrieveRequest, context: grpc.ServicerContext) -> bytes:
        context.abort(grpc.StatusCode.PERMISSION_DENIED, "no")

    address = stack.enter_context(raw_source(refusing))
    asked = FanOut.connect({"a": address}, policy=CallPolicy(breaker_failures=1))
    stack.callback(asked.close)
    assert [asked.gather(QUERY, 5).failures[0].kind for _ in range(3)] == ["refused"] * 3


def test_the_pool_changes(stack: ExitStack) -> None:
    names = ("a", "b")
    addresses = {name: stack.enter_context(raw_source(answering(name, [name]))) for name in names}
    asked = FanOut.connect({"a": addresses["a"]})
    stack.callback(asked.close)
    asked.add(SourceClient("b", addresses["b"]))
    assert [reply.source_id for reply in asked.gather(QUERY, 5).replies] == ["a", "b"]
    asked.drain("a")
    assert [reply.source_id for reply in asked.gather(QUERY, 5).replies] == ["b"]
    assert [standing.state for standing in asked.standing()] == ["drained", "active"]
    asked.resume("a")
    asked.remove("b")
    assert [reply.source_id for reply in asked.gather(QUERY, 5).replies] == ["a"]
    for change in (asked.drain, asked.resume, asked.remove):
        with pytest.raises(ConfigError, match="no source 'b' here; known: a"):
            change("b")
    with pytest.raises(ConfigError, match="twice"):
        asked.add(SourceClient("a", addresses["a"]))


def test_a_source_is_shown_a_rotated_certificate_without_a_restart(tmp_path: Path) -> None:
    authority = Authority(tmp_path)
    seen: list[bytes] = []
    honest = answering("clinic", ["text"])

    def behave(request: source_node_pb2.RetrieveRequest, context: grpc.ServicerContext) -> bytes:
        seen.extend(context.auth_context()["x509_pem_cert"])
        return honest(request, context)

    ours = authority.issue("aggregator")
    with raw_source(behave, tls=authority.issue("clinic")) as address:
        pool = FanOut.connect({"clinic": address}, ours, 60.0)
        assert pool.gather(Query("q"), 1).replies
        first = ours.cert.read_bytes()
        authority.issue("aggregator")
        end = time.monotonic() + 60
        while seen[-1] == first and time.monotonic() < end:
            assert pool.gather(Query("q"), 1).replies, "no round is lost meanwhile"
            time.sleep(0.05)
        assert seen[-1] == ours.cert.read_bytes()
        pool.close()
