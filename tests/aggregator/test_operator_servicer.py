from __future__ import annotations

import threading
import time
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import grpc
import pytest

from aggregator.aggregator import Aggregator
from aggregator.fan_out import FanOut
from aggregator.reputation import Reputation
from aggregator.roster import Roster
from aggregator.servicer import serve
from core.pipeline import Pipeline
from core.rpc import open_channel
from protos import operator_pb2, operator_pb2_grpc
from tests.aggregator.parts import FirstReader, answering, raw_source
from tests.certificates import Authority


@pytest.fixture
def stack() -> Iterator[ExitStack]:
    with ExitStack() as open_things:
        yield open_things


def running(stack: ExitStack, sources: dict[str, str], roster: Roster, tls: Any = None, **rest: Any) -> Any:
    made = Aggregator(FanOut.connect(sources), Pipeline([]), FirstReader(), Reputation(), roster=roster)
    server = serve(made, "127.0.0.1:0", tls, insecure=tls is None, **rest)
    server.start()
    stack.callback(made.close)
    stack.callback(server.stop, 1.0)
    return made, server.address


def operator(stack: ExitStack, address: str, tls: Any = None) -> Any:
    channel = open_channel(address, tls)
    stack.callback(channel.close)
    return operator_pb2_grpc.AggregatorOperatorStub(channel)


def test_sources_come_and_go_while_it_serves(stack: ExitStack, tmp_path: Path) -> None:
    a, b = (stack.enter_context(raw_source(answering(name, [f"text of {name}"]))) for name in "ab")
    roster = Roster(tmp_path / "state.sqlite")
    made, address = running(stack, {"a": a}, roster)
    stub = operator(stack, address)

    def who() -> list[str]:
        return [d.key.source_id for d in made.ask("where").documents]

    reply = stub.Add(operator_pb2.AddRequest(source_id="b", address=b), timeout=60)
    assert reply.persisted
    assert who() == ["a", "b"]
    assert stub.Drain(operator_pb2.DrainRequest(source_id="a"), timeout=60).persisted
    assert who() == ["b"]
    listed = stub.List(operator_pb2.ListRequest(), timeout=60).sources
    assert [(s.source_id, s.state, s.circuit, s.reachable) for s in listed] == [
        ("a", "drained", "closed", True),
        ("b", "active", "closed", True),
    ]
    assert listed[0].n_documents == 7
    stub.Add(operator_pb2.AddRequest(source_id="a", address=a), timeout=60)
    assert who() == ["a", "b"]
    stub.Remove(operator_pb2.RemoveRequest(source_id="a"), timeout=60)
    assert who() == ["b"]
    assert set(roster.apply({"a": a})) == {"b"}


def test_what_is_wrong_is_told(stack: ExitStack) -> None:
    a = stack.enter_context(raw_source(answering("a", ["text"])))
    _, address = running(stack, {"a": a}, Roster())
    stub = operator(stack, address)
    for call, request, message in (
        (stub.Add, operator_pb2.AddRequest(source_id="b", address="nowhere"), "HOST:PORT"),
        (stub.Add, operator_pb2.AddRequest(source_id="", address="h:1"), "source_id is empty"),
        (stub.Add, operator_pb2.AddRequest(source_id="a", address="h:1"), "is there already"),
        (stub.Drain, operator_pb2.DrainRequest(source_id="x"), "no source 'x'"),
        (stub.Remove, operator_pb2.RemoveRequest(source_id="x"), "no source 'x'"),
    ):
        with pytest.raises(grpc.RpcError, match=message):
            call(request, timeout=60)
    assert not stub.Drain(operator_pb2.DrainRequest(source_id="a"), timeout=60).persisted


def test_only_operators_may(stack: ExitStack, tmp_path: Path) -> None:
    authority = Authority(tmp_path)
    files = authority.issue("aggregator", "localhost", loopback=True)
    _, address = running(stack, {"a": "127.0.0.1:1"}, Roster(), files, operators=["ops"])
    with pytest.raises(grpc.RpcError) as raised:
        operator(stack, address, authority.issue("clinic")).List(operator_pb2.ListRequest(), timeout=60)
    assert raised.value.code() is grpc.StatusCode.PERMISSION_DENIED
    ops = operator(stack, address, authority.issue("ops"))
    (source,) = ops.List(operator_pb2.ListRequest(), timeout=60).sources
    assert not source.reachable


def test_a_removed_source_still_answers_the_round_that_asked_it(stack: ExitStack) -> None:
    asked, go_on = threading.Event(), threading.Event()
    stack.callback(go_on.set)

    def slow(request: Any, context: Any) -> bytes:
        asked.set()
        go_on.wait(60)
        return answering("a", ["text of a"])(request, context)

    made, address = running(stack, {"a": stack.enter_context(raw_source(slow))}, Roster())
    stub = operator(stack, address)
    answers: list[Any] = []
    asker = threading.Thread(target=lambda: answers.append(made.ask("where")))
    asker.start()
    assert asked.wait(60)
    stub.Remove(operator_pb2.RemoveRequest(source_id="a"), timeout=60)
    assert made.fan_out.source_ids == ()
    go_on.set()
    asker.join(60)
    assert answers[0].text == "text of a"
    deadline = time.monotonic() + 60
    while made.fan_out.standing() and time.monotonic() < deadline:
        time.sleep(0.01)
    assert made.fan_out.standing() == ()
