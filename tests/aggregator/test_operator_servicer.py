from __future__ import annotations

import threading
import time
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path
from queue import SimpleQueue
from typing import Any

import grpc
import pytest

from aggregator.aggregator import Aggregator
from aggregator.dialling import Dialling
from aggregator.fan_out import FanOut
from aggregator.reputation import Reputation
from aggregator.roster import Roster
from aggregator.servicer import serve
from aggregator.source_tokens import TokenShelf
from aggregator.tunnel import SOURCE_KEY, TunnelHub, serve_tunnels
from core.pipeline import Pipeline
from core.rpc import open_channel
from core.tokens import HEADER, Proof, proves, read_proof, stored_key
from protos import operator_pb2, operator_pb2_grpc, source_tunnel_pb2_grpc
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


def test_two_operators_at_once_leave_pool_and_roster_agreed(stack: ExitStack, tmp_path: Path) -> None:
    roster = Roster(tmp_path / "state.sqlite")
    made, address = running(stack, {"a": "127.0.0.1:1"}, roster)
    stub = operator(stack, address)
    for name in ("b", "c", "d"):
        calls = [
            stub.Add.future(operator_pb2.AddRequest(source_id=name, address=f"127.0.0.1:{port}"), timeout=60)
            for port in range(2, 8)
        ]
        assert sum(call.exception(60) is None for call in calls) == 1
    pool = {each.source_id: each.address for each in made.fan_out.standing()}
    assert {source: listed.address for source, listed in roster.apply({"a": "127.0.0.1:1"}).items()} == pool


def test_a_source_that_wants_a_token_is_added_drained_and_given_another(
    stack: ExitStack, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    authority = Authority(tmp_path / "tls")
    proofs: list[Proof] = []
    inner = answering("clinic", ["text of clinic"])

    def behave(request: Any, context: Any) -> bytes:
        (header,) = (value for key, value in context.invocation_metadata() if key == HEADER)
        proofs.append(read_proof(header))
        return inner(request, context)

    clinic = authority.issue("clinic")
    credentials = clinic.server_credentials(client_certificates=False)
    at = stack.enter_context(raw_source(behave, credentials=credentials))
    files, shelf = authority.issue("aggregator", "localhost", loopback=True), tmp_path / "tokens.yaml"
    dialling = Dialling(files, 60.0, None, TokenShelf(shelf))
    made = Aggregator(FanOut([]), Pipeline([]), FirstReader(), Reputation(), dialling=dialling)
    stack.callback(made.close)
    server = serve(made, "127.0.0.1:0", files, operators=["ops"])
    server.start()
    stack.callback(server.stop, 1.0)
    stub = operator(stack, server.address, authority.issue("ops"))
    request = operator_pb2.AddRequest(
        source_id="clinic", address=at, token_name="agg", token_secret="first-secret"
    )
    stub.Add(request, timeout=60)
    assert made.ask("where").text == "text of clinic"
    assert proves(proofs[-1], stored_key("first-secret"), "clinic", "Retrieve")
    with pytest.raises(grpc.RpcError, match="is there already"):
        stub.Add(request, timeout=60)
    stub.Drain(operator_pb2.DrainRequest(source_id="clinic"), timeout=60)
    request.token_secret = "second-secret"
    stub.Add(request, timeout=60)
    assert made.ask("where").text == "text of clinic"
    assert proves(proofs[-1], stored_key("second-secret"), "clinic", "Retrieve")
    assert TokenShelf(shelf).get("clinic") == ("agg", "second-secret")
    for wrong, told in (("bad secret", "without spaces"), ("", "without spaces")):
        request.source_id, request.token_secret = "bank", wrong
        with pytest.raises(grpc.RpcError, match=told):
            stub.Add(request, timeout=60)
    stub.Remove(operator_pb2.RemoveRequest(source_id="clinic"), timeout=60)
    assert TokenShelf(shelf).get("clinic") is None
    assert "-secret" not in caplog.text


def test_a_token_without_tls_is_refused_and_not_kept(stack: ExitStack) -> None:
    made, address = running(stack, {"a": "127.0.0.1:1"}, Roster())
    request = operator_pb2.AddRequest(source_id="b", address="h:1", token_name="agg", token_secret="secret")
    with pytest.raises(grpc.RpcError, match="over TLS only"):
        operator(stack, address).Add(request, timeout=60)
    assert made.fan_out.source_ids == ("a",)


def test_a_source_that_dials_is_added_and_added_again(stack: ExitStack) -> None:
    hub = TunnelHub()
    made = Aggregator(
        FanOut([]), Pipeline([]), FirstReader(), Reputation(), dialling=Dialling(None, 60.0, hub)
    )
    server, tunnels = serve(made, "127.0.0.1:0", insecure=True), serve_tunnels(hub, "127.0.0.1:0", None, True)
    for each in (server, tunnels):
        each.start()
        stack.callback(each.stop, 1.0)
    stack.callback(hub.close)
    stack.callback(made.close)
    stub = operator(stack, server.address)
    add = operator_pb2.AddRequest(source_id="clinic", dialled=True)

    held = []  # a call that nobody holds any longer is cancelled

    def dials() -> Any:
        tunnel = source_tunnel_pb2_grpc.SourceTunnelStub(stack.enter_context(open_channel(tunnels.address)))
        frames: SimpleQueue[Any] = SimpleQueue()
        stack.callback(frames.put, None)
        held.append(tunnel.Serve(iter(frames.get, None), metadata=((SOURCE_KEY, b"clinic"),), timeout=600))
        return held[-1]

    with pytest.raises(grpc.RpcError, match="not allowed"):
        next(dials())  # nobody expects it yet
    assert "once it dials in" in stub.Add(add, timeout=60).outcome
    assert next(dials()).call_id == 0
    assert hub.connected() == {"clinic"}
    with made.fan_out._borrowed():  # a round that runs while the source is removed and added again
        stub.Remove(operator_pb2.RemoveRequest(source_id="clinic"), timeout=60)
        stub.Add(add, timeout=60)
        assert next(dials()).call_id == 0
    assert hub.connected() == {"clinic"}, "the end of the older round must not dismiss the newer source"
    for wrong, told in (
        (operator_pb2.AddRequest(source_id="b", dialled=True, address="h:1"), "has no address"),
        (
            operator_pb2.AddRequest(source_id="b", dialled=True, token_name="a", token_secret="s"),
            "to a source that we dial",
        ),
    ):
        with pytest.raises(grpc.RpcError, match=told):
            stub.Add(wrong, timeout=60)


def test_a_source_cannot_dial_where_nothing_listens_for_it(stack: ExitStack) -> None:
    made, address = running(stack, {"a": "127.0.0.1:1"}, Roster())
    with pytest.raises(grpc.RpcError, match="--accept-dialled HOST:PORT is missing"):
        operator(stack, address).Add(operator_pb2.AddRequest(source_id="b", dialled=True), timeout=60)
    assert made.fan_out.source_ids == ("a",)


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
