"""Real gRPC on loopback: whatever a peer does becomes a reply or a SourceFailure, in the sources' order."""

from __future__ import annotations

import socket
import threading
import time
from contextlib import ExitStack
from pathlib import Path

import grpc
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from aggregator.fan_out import FanOut
from aggregator.source_client import SourceClient
from core.errors import ConfigError, WireError
from core.records import NodeDescription, PrivacyRequest, Query, SourceFailure
from protos import source_node_pb2, types_pb2
from tests.aggregator.parts import Behaviour, answering, raw_source
from tests.certificates import Authority

QUERY = Query("where is the archive", request_id="r1")


def fan_out(stack: ExitStack, behaviours: dict[str, Behaviour], deadline_s: float = 5.0) -> FanOut:
    sources = {source: stack.enter_context(raw_source(behave)) for source, behave in behaviours.items()}
    made = FanOut.connect(sources, deadline_s=deadline_s)
    stack.callback(made.close)
    return made


def message(*documents: types_pb2.Document, source_id: str = "bad", request_id: str = "r1") -> Behaviour:
    body = source_node_pb2.RetrieveReply(source_id=source_id, request_id=request_id, documents=documents)
    return lambda request, context: body.SerializeToString()


def document(**fields: object) -> types_pb2.Document:
    return types_pb2.Document(**{"doc_id": "d0", "text": "some text", "score": 1.0, "rank": 1, **fields})


def aborting(code: grpc.StatusCode) -> Behaviour:
    def behave(request: source_node_pb2.RetrieveRequest, context: grpc.ServicerContext) -> bytes:
        context.abort(code, "not today")
        raise AssertionError

    return behave


def test_replies_come_in_the_order_of_the_sources(stack: ExitStack) -> None:
    def slow(source_id: str, seconds: float) -> Behaviour:
        def behave(request: source_node_pb2.RetrieveRequest, context: grpc.ServicerContext) -> bytes:
            time.sleep(seconds)
            return answering(source_id, ["text"])(request, context)

        return behave

    asked = fan_out(stack, {"c": slow("c", 0.3), "a": slow("a", 0.15), "b": slow("b", 0.0)})
    gathered = asked.gather(QUERY, 5)
    assert [reply.source_id for reply in gathered.replies] == ["c", "a", "b"]
    assert gathered.failures == ()
    slowest, *_, fastest = (reply.milliseconds for reply in gathered.replies)
    assert slowest >= 300
    assert fastest < 300
    assert gathered.milliseconds < 4000


def test_a_reply_carries_texts_and_own_ranks(stack: ExitStack) -> None:
    gathered = fan_out(stack, {"a": answering("a", ["one", "two", "three"])}).gather(QUERY, 2)
    (reply,) = gathered.replies
    assert [(d.source_id, d.doc_id, d.text, d.rank) for d in reply.documents] == [
        ("a", "d0", "one", 1),
        ("a", "d1", "two", 2),
    ]


@pytest.mark.parametrize(
    ("behaviour", "kind"),
    [
        (message(source_id="somebody else"), "identity"),
        (message(source_id=""), "identity"),
        (message(request_id="another"), "malformed"),
        (message(document(text="")), "malformed"),
        (message(document(text=" \n\t ")), "malformed"),
        (message(document(text="x" * 1_048_576)), "malformed"),
        (message(document(title="x" * 1_048_576)), "malformed"),
        (message(document(score=float("nan"))), "malformed"),
        (message(document(score=float("inf"))), "malformed"),
        (message(document(doc_id="")), "malformed"),
        (message(document(doc_id="x" * 300)), "malformed"),
        (message(document(), document()), "malformed"),
        (message(*[document(doc_id=f"d{i}") for i in range(6)]), "malformed"),
        (message(*[document(doc_id=f"d{i}") for i in range(5000)]), "malformed"),
        (message(document(text="x" * 10_000_000)), "oversized"),
        (lambda request, context: b"\xff" * 100, "malformed"),
        (lambda request, context: b"", "identity"),
        (aborting(grpc.StatusCode.RESOURCE_EXHAUSTED), "overloaded"),
        (aborting(grpc.StatusCode.FAILED_PRECONDITION), "refused"),
        (aborting(grpc.StatusCode.PERMISSION_DENIED), "refused"),
        (aborting(grpc.StatusCode.INTERNAL), "internal"),
        (aborting(grpc.StatusCode.UNAVAILABLE), "unavailable"),
    ],
)
def test_a_bad_peer_is_a_failure_and_nothing_is_lost(
    stack: ExitStack, behaviour: Behaviour, kind: str
) -> None:
    asked = fan_out(stack, {"a": answering("a", ["one"]), "bad": behaviour, "z": answering("z", ["last"])})
    gathered = asked.gather(QUERY, 5)
    assert [reply.source_id for reply in gathered.replies] == ["a", "z"]
    assert [(failure.source_id, failure.kind) for failure in gathered.failures] == [("bad", kind)]
    assert "\n" not in gathered.failures[0].detail
    assert len(gathered.failures[0].detail) < 1000


@pytest.mark.parametrize("field", ["text", "title", "doc_id", "category"])
def test_bytes_that_are_not_utf_8_are_malformed(stack: ExitStack, field: str) -> None:
    good = source_node_pb2.RetrieveReply(
        source_id="bad", request_id="r1", documents=[document(**{field: "MARKER"})]
    )
    broken = good.SerializeToString().replace(b"MARKER", b"MAR\xffER")
    gathered = fan_out(stack, {"bad": lambda request, context: broken}).gather(QUERY, 5)
    assert gathered.failures[0].kind == "malformed"


@given(noise=st.binary(max_size=200))
@settings(max_examples=150)
def test_no_bytes_at_all_raise(noise: bytes) -> None:
    with _noisy.lock:
        _noisy.bytes = noise
        gathered = _noisy.fan_out().gather(QUERY, 5)
    assert len(gathered.replies) + len(gathered.failures) == 1
    assert all(failure.kind in ("malformed", "identity") for failure in gathered.failures)


class _Noisy:
    """One server and one channel for all examples."""

    def __init__(self) -> None:
        self.lock = threading.Lock()
        self.bytes = b""
        self._fan_out: FanOut | None = None

    def fan_out(self) -> FanOut:
        if self._fan_out is None:
            self._stack = ExitStack()
            address = self._stack.enter_context(raw_source(lambda request, context: self.bytes))
            self._fan_out = FanOut.connect({"bad": address})
        return self._fan_out


_noisy = _Noisy()


def test_a_silent_source_costs_the_deadline_and_no_more(stack: ExitStack) -> None:
    hung = threading.Event()
    stack.callback(hung.set)

    def hang(request: source_node_pb2.RetrieveRequest, context: grpc.ServicerContext) -> bytes:
        hung.wait(30)
        return b""

    behaviours = {"slow1": hang, "a": answering("a", ["one"]), "slow2": hang, "slow3": hang}
    asked = fan_out(stack, behaviours, deadline_s=0.5)
    asked.gather(QUERY, 5)
    start = time.perf_counter()
    gathered = asked.gather(QUERY, 5)
    assert time.perf_counter() - start < 1.2  # one after the other they would take 1.5
    assert [reply.source_id for reply in gathered.replies] == ["a"]
    assert [(f.source_id, f.kind) for f in gathered.failures] == [(f"slow{i}", "deadline") for i in (1, 2, 3)]


def test_a_host_that_swallows_the_connection_costs_the_deadline(stack: ExitStack) -> None:
    listener = stack.enter_context(socket.create_server(("127.0.0.1", 0)))  # accepts, never speaks
    asked = FanOut.connect({"mute": f"127.0.0.1:{listener.getsockname()[1]}"}, deadline_s=0.5)
    stack.callback(asked.close)
    start = time.perf_counter()
    gathered = asked.gather(QUERY, 5)
    assert time.perf_counter() - start < 1.0
    assert gathered.failures[0].kind in ("deadline", "unavailable")


def test_a_source_that_dies_fails_and_one_that_returns_answers_again(stack: ExitStack) -> None:
    with socket.create_server(("127.0.0.1", 0)) as probe:
        address = f"127.0.0.1:{probe.getsockname()[1]}"
    asked = FanOut.connect({"a": address})
    stack.callback(asked.close)
    with raw_source(answering("a", ["one"]), address):
        assert asked.gather(QUERY, 5).replies
    failed = asked.gather(QUERY, 5)
    assert [failure.kind for failure in failed.failures] == ["unavailable"]
    assert failed.milliseconds < 4000
    with raw_source(answering("a", ["one"]), address):
        for _ in range(50):
            if asked.gather(QUERY, 5).replies:
                return
            time.sleep(0.2)
    pytest.fail("the source never came back")


def test_a_source_that_dies_while_it_answers_is_unavailable(stack: ExitStack) -> None:
    inside = threading.Event()
    server = raw_source(lambda request, context: inside.set() or time.sleep(20) or b"")
    asked = FanOut.connect({"a": server.__enter__()}, deadline_s=10)
    stack.callback(asked.close)
    killer = threading.Thread(target=lambda: (inside.wait(), server.__exit__(None, None, None)))
    killer.start()
    gathered = asked.gather(QUERY, 5)
    assert gathered.failures[0].kind in ("unavailable", "deadline")
    assert gathered.milliseconds < 5000


def test_privacy_is_asked_of_every_source(stack: ExitStack) -> None:
    seen: list[tuple[str, float]] = []

    def watch(request: source_node_pb2.RetrieveRequest, context: grpc.ServicerContext) -> bytes:
        seen.append((request.privacy.mechanism, request.privacy.epsilon))
        return answering("a", ["one"])(request, context)

    asked = fan_out(stack, {"a": watch})
    assert asked.gather(QUERY, 5, PrivacyRequest("noisy_top_k", 2.0)).replies
    assert seen == [("noisy_top_k", 2.0)]


def test_an_asker_out_of_bounds_is_told(stack: ExitStack) -> None:
    asked = fan_out(stack, {"a": answering("a", ["one"])})
    with pytest.raises(WireError, match="query"):
        asked.gather(Query("x" * 10_000), 5)
    with pytest.raises(WireError, match="top_k"):
        asked.gather(QUERY, 0)


def test_describe_says_who_is_there(stack: ExitStack) -> None:
    asked = fan_out(stack, {"a": answering("a", ["one"]), "b": answering("not b", ["one"])})
    first, second = asked.describe()
    assert isinstance(first, NodeDescription)
    assert first.n_documents == 7
    assert isinstance(second, SourceFailure)
    assert second.kind == "identity"


def test_bad_settings_are_refused() -> None:
    with pytest.raises(ConfigError, match="twice"):
        FanOut([SourceClient("a", "127.0.0.1:1"), SourceClient("a", "127.0.0.1:2")])
    with pytest.raises(ConfigError, match="deadline"):
        FanOut([], deadline_s=0)
    with pytest.raises(ConfigError, match="deadline"):
        SourceClient("a", "127.0.0.1:1", deadline_s=-1)
    with pytest.raises(ConfigError, match="HOST:PORT"):
        SourceClient("a", "nowhere")


def test_a_certificate_must_name_the_source(stack: ExitStack, tmp_path: Path) -> None:
    authority = Authority(tmp_path)
    caller = authority.issue("aggregator")

    def serve(name: str, answers_as: str) -> str:
        files = authority.issue(name, "localhost", loopback=True)
        return stack.enter_context(raw_source(answering(answers_as, ["one"]), tls=files))

    sources = {"a": serve("a", "a"), "b": serve("mallory", "b"), "c": serve("c", "b")}
    asked = FanOut.connect(sources, caller)
    stack.callback(asked.close)
    gathered = asked.gather(QUERY, 5)
    assert [reply.source_id for reply in gathered.replies] == ["a"]
    assert [(f.source_id, f.kind) for f in gathered.failures] == [("b", "identity"), ("c", "identity")]
    strangers = FanOut.connect(sources, Authority(tmp_path / "other").issue("aggregator"))
    stack.callback(strangers.close)
    assert strangers.gather(QUERY, 5).replies == ()
