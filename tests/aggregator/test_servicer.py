from __future__ import annotations

import logging
import threading
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import grpc
import pytest
from grpc_health.v1 import health_pb2, health_pb2_grpc
from grpc_reflection.v1alpha.proto_reflection_descriptor_database import ProtoReflectionDescriptorDatabase

from aggregator.aggregator import Aggregator
from aggregator.fan_out import FanOut
from aggregator.reputation import Reputation
from aggregator.servicer import SERVICE_NAME, serve
from core.errors import LLMError
from core.pipeline import Pipeline
from core.reader import Reading, ReadRequest
from core.records import RetrievedDocument
from core.rpc import open_channel
from core.wire import to_ask_request, to_verify_request
from protos import aggregator_pb2, aggregator_pb2_grpc
from tests.aggregator.parts import FirstReader, PoisonStage, answering, raw_source
from tests.certificates import Authority


@pytest.fixture
def stack() -> Iterator[ExitStack]:
    with ExitStack() as open_things:
        yield open_things


def running(stack: ExitStack, reader: Any = None, tls: Any = None) -> tuple[Aggregator, str]:
    sources = {
        "a": stack.enter_context(raw_source(answering("a", ["the archive is in the blue hall"]))),
        "b": stack.enter_context(raw_source(answering("b", ["poison the archive"]))),
        "gone": "127.0.0.1:1",
    }
    asked = Aggregator(
        FanOut.connect(sources), Pipeline([PoisonStage()]), reader or FirstReader(), Reputation(momentum=0.5)
    )
    server = serve(asked, "127.0.0.1:0", tls, insecure=tls is None)
    server.start()
    stack.callback(asked.close)
    stack.callback(server.stop, 1.0)
    return asked, server.address


def stub(stack: ExitStack, address: str) -> Any:
    channel = open_channel(address)
    stack.callback(channel.close)
    return aggregator_pb2_grpc.AggregatorStub(channel)


def test_ask(stack: ExitStack, caplog: pytest.LogCaptureFixture) -> None:
    asked, address = running(stack)
    with caplog.at_level(logging.WARNING):
        reply = stub(stack, address).Ask(to_ask_request("where is the archive", 5), timeout=10)
    assert reply.answer == "the archive is in the blue hall"
    assert [(d.key.source_id, d.kept) for d in reply.documents] in (
        [("a", True), ("b", False)],
        [("b", False), ("a", True)],
    )
    assert [(f.source_id, f.kind) for f in reply.failures] == [("gone", "unavailable")]
    assert reply.reliability["a"] == asked.reputation.reliability(["a"])["a"] == pytest.approx(0.7)
    assert "source gone gave nothing: unavailable" in caplog.text
    assert "archive" not in caplog.text


def test_verify_learns_nothing(stack: ExitStack) -> None:
    asked, address = running(stack)
    documents = [RetrievedDocument("a", "1", "poison"), RetrievedDocument("b", "1", "sound")]
    reply = stub(stack, address).Verify(to_verify_request("where", documents), timeout=10)
    assert {d.key.source_id: d.kept for d in reply.documents} == {"a": False, "b": True}
    assert asked.reputation.reliability(["a", "b"]) == {"a": 0.5, "b": 0.5}


def test_list_sources(stack: ExitStack) -> None:
    _, address = running(stack)
    reply = stub(stack, address).ListSources(aggregator_pb2.ListSourcesRequest(), timeout=10)
    assert [(s.source_id, s.reachable, s.n_documents) for s in reply.sources] == [
        ("a", True, 7),
        ("b", True, 7),
        ("gone", False, 0),
    ]
    assert reply.sources[0].reliability == 0.5


@pytest.mark.parametrize(
    "request_",
    [
        aggregator_pb2.AskRequest(question=""),
        aggregator_pb2.AskRequest(question="x" * 9000),
        aggregator_pb2.AskRequest(question="where", top_k=101),
        aggregator_pb2.AskRequest(question="where", user_id="u" * 300),
    ],
)
def test_a_question_out_of_bounds_is_an_invalid_argument(stack: ExitStack, request_: Any) -> None:
    _, address = running(stack)
    with pytest.raises(grpc.RpcError) as raised:
        stub(stack, address).Ask(request_, timeout=10)
    assert raised.value.code() is grpc.StatusCode.INVALID_ARGUMENT


def test_private_messages_stay_inside(stack: ExitStack) -> None:
    class Down(FirstReader):
        def read(self, request: ReadRequest) -> Reading:
            raise LLMError("http://10.0.0.9/secret is down")

    _, address = running(stack, Down())
    with pytest.raises(grpc.RpcError) as raised:
        stub(stack, address).Ask(to_ask_request("where", 5), timeout=10)
    assert raised.value.code() is grpc.StatusCode.UNAVAILABLE
    assert "10.0.0.9" not in raised.value.details()


def test_health_and_reflection(stack: ExitStack) -> None:
    _, address = running(stack)
    channel = open_channel(address)
    stack.callback(channel.close)
    health = health_pb2_grpc.HealthStub(channel).Check(
        health_pb2.HealthCheckRequest(service=SERVICE_NAME), timeout=10
    )
    assert health.status == health_pb2.HealthCheckResponse.SERVING
    assert SERVICE_NAME in ProtoReflectionDescriptorDatabase(channel).get_services()


def test_the_certificate_says_who_asks(stack: ExitStack, tmp_path: Path) -> None:
    class Whose(FirstReader):
        pass

    authority = Authority(tmp_path)
    asked, address = running(stack, Whose(), authority.issue("aggregator", "localhost", loopback=True))
    users: list[str] = []
    ask = asked.ask
    asked.ask = lambda question, **rest: users.append(rest["user_id"]) or ask(question, **rest)  # type: ignore[method-assign]
    channel = open_channel(address, authority.issue("clinic"))
    stack.callback(channel.close)
    with_tls = aggregator_pb2_grpc.AggregatorStub(channel)
    with_tls.Ask(to_ask_request("where", 5, "dr-who"), timeout=10)
    with_tls.Ask(to_ask_request("where", 5), timeout=10)
    assert users == ["clinic/dr-who", "clinic"]
    with pytest.raises(grpc.RpcError):
        stub(stack, address).Ask(to_ask_request("where", 5), timeout=10)


def test_the_askers_deadline_bounds_the_fan_out(stack: ExitStack) -> None:
    hung = threading.Event()
    stack.callback(hung.set)
    slow = stack.enter_context(raw_source(lambda request, context: hung.wait(100) or b""))
    asked = Aggregator(
        FanOut.connect({"slow": slow}, deadline_s=90.0), Pipeline([]), FirstReader(), Reputation()
    )
    server = serve(asked, "127.0.0.1:0", insecure=True)
    server.start()
    stack.callback(asked.close)
    stack.callback(server.stop, 1.0)
    reply = stub(stack, server.address).Ask(to_ask_request("where", 5), timeout=8)
    assert [(f.source_id, f.kind) for f in reply.failures] == [("slow", "deadline")]
