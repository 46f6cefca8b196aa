"""Sources that dial: the same desk behind a connection that the node opened itself."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path

import grpc
import pytest

from aggregator.fan_out import FanOut
from aggregator.source_client import SourceClient
from aggregator.tunnel import (
    DIALLED,
    MOST_CALLS,
    SERVICE_NAME,
    SOURCE_KEY,
    TunnelError,
    TunnelHub,
    _Session,
    serve_tunnels,
)
from core.config import parse
from core.embedding.hashing import HashingEmbedder
from core.records import Document, NodeDescription, Query, SourceFailure, SourceReply
from core.rpc import Server, open_channel
from core.tls import TlsFiles
from protos import source_tunnel_pb2 as pb
from source_node import SourceNode, dial
from source_node.access.admission import Admission
from source_node.access.policy import AccessPolicy
from source_node.desk import Answering, Desk
from source_node.dial import Dialler
from tests.certificates import Authority

PATIENCE = 60.0
DOCUMENTS = [Document(f"d{i}", f"document {i} about zinc", "Title", "mining") for i in range(8)]


def node(source_id: str = "clinic") -> SourceNode:
    return SourceNode(source_id, DOCUMENTS, None, HashingEmbedder(32))


def until(condition: Callable[[], object]) -> None:
    end = time.monotonic() + PATIENCE
    while not condition():
        assert time.monotonic() < end, "it did not happen in time"
        time.sleep(0.02)


class Place:
    """An aggregator's side: a hub on a port, and clients of the sources that it expects."""

    def __init__(self, stack: ExitStack, tls: TlsFiles | None = None, *expected: str) -> None:
        self.stack, self.tls = stack, tls
        self.hub = TunnelHub()
        self.clients = [
            SourceClient(name, DIALLED, deadline_s=PATIENCE, channel=self.hub.channel(name))
            for name in expected or ("clinic",)
        ]
        self.server = self.listen("127.0.0.1:0")

    def listen(self, at: str) -> Server:
        server = serve_tunnels(self.hub, at, self.tls, insecure=self.tls is None)
        server.start()
        self.stack.callback(server.stop, 0.5)
        self.stack.callback(self.hub.close)
        return server

    def dial(self, desk: Answering | Desk, tls: TlsFiles | None = None, name: str | None = None) -> Dialler:
        desk = desk if isinstance(desk, Desk) else Desk(desk)
        dialler = Dialler(desk, self.server.address, tls, name, pauses=(0.05, 0.2))
        dialler.start()
        self.stack.callback(dialler.stop, 0.5)
        return dialler


@pytest.fixture
def stack() -> Iterator[ExitStack]:
    with ExitStack() as made:
        yield made


def test_a_dialled_source_answers_as_any_other(stack: ExitStack) -> None:
    place = Place(stack)
    (client,) = place.clients
    failure = client.start(Query("zinc"), 3).result()
    assert isinstance(failure, SourceFailure)
    assert failure.kind == "unavailable"
    assert place.dial(node()).connected.wait(PATIENCE)
    pool = FanOut(place.clients, PATIENCE)
    (reply,) = pool.gather(Query("zinc 5", "r1"), 3).replies
    assert reply.documents == node().retrieve(Query("zinc 5"), 3).documents
    (described,) = pool.describe()
    assert described == node().describe()
    assert place.hub.connected() == {"clinic"}
    pool.close()
    until(lambda: not place.hub.connected())


def test_who_dials_and_who_is_dialled_is_told_by_certificates(
    stack: ExitStack, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    authority = Authority(tmp_path)
    place = Place(stack, authority.issue("agg", "localhost"), "clinic", "bank")
    policy = parse(AccessPolicy, {"callers": {"AGG": {"top_k": 2}}}, "test")
    desk = Desk(node(), admission=Admission(lambda: policy))
    assert place.dial(desk, authority.issue("clinic"), "agg").connected.wait(PATIENCE)
    reply = place.clients[0].start(Query("zinc"), 5).result()
    assert isinstance(reply, SourceReply)
    assert len(reply.documents) == 2, "the policy knows the aggregator by its certificate"
    # a certified party that says it is another source
    liar = place.dial(node("bank"), authority.issue("mallory"), "agg")
    # a source of the right name, expected by nobody
    uninvited = place.dial(node("archive"), authority.issue("archive"), "agg")
    # a source that takes this aggregator for another
    mistaken = place.dial(node("bank"), authority.issue("bank"), "another aggregator")
    # a source of another authority
    other = Authority(tmp_path / "other").issue("bank")
    stranger = place.dial(node("bank"), TlsFiles(other.cert, other.key, authority.ca), "agg")
    for code in ("PERMISSION_DENIED", "UNAVAILABLE"):
        until(lambda code=code: sum(f": {code}: " in line for line in caplog.messages) >= 6)
    assert not any(each.connected.is_set() for each in (liar, uninvited, mistaken, stranger))
    assert place.hub.connected() == {"clinic"}


def test_a_connection_that_ends_is_made_again(stack: ExitStack) -> None:
    place = Place(stack)
    dialler = place.dial(node())
    assert dialler.connected.wait(PATIENCE)
    place.hub.close()
    place.server.stop(0.2)
    until(lambda: not dialler.connected.is_set())
    (client,) = place.clients
    assert isinstance(client.start(Query("zinc"), 1).result(), SourceFailure)
    place.listen(place.server.address)
    until(lambda: isinstance(client.start(Query("zinc"), 1).result(), SourceReply))


def test_a_newer_connection_takes_the_place_of_the_older(stack: ExitStack) -> None:
    place = Place(stack)
    first = place.dial(node())
    assert first.connected.wait(PATIENCE)
    second = place.dial(node())
    assert second.connected.wait(PATIENCE)
    until(lambda: isinstance(place.clients[0].start(Query("zinc"), 1).result(), SourceReply))


class Slow:
    """A node that answers when it is let."""

    def __init__(self) -> None:
        self.asked = threading.Semaphore(0)
        self.let = threading.Event()

    def retrieve(self, query: Query, *_: object) -> SourceReply:
        self.asked.release()
        assert self.let.wait(PATIENCE)
        return SourceReply("clinic", ())

    def describe(self) -> NodeDescription:
        return NodeDescription("clinic", 0, "slow")


def test_a_graceful_stop_finishes_what_it_began(stack: ExitStack) -> None:
    place, slow = Place(stack), Slow()
    dialler = place.dial(slow)
    assert dialler.connected.wait(PATIENCE)
    running = place.clients[0].start(Query("q"), 1)
    assert slow.asked.acquire(timeout=PATIENCE)
    stopping = threading.Thread(target=dialler.stop, args=(PATIENCE,))
    stopping.start()
    until(lambda: isinstance(_quick(place.clients[0]), SourceFailure))
    slow.let.set()
    assert isinstance(running.result(), SourceReply)
    stopping.join(PATIENCE)
    assert not stopping.is_alive()
    until(lambda: not place.hub.connected())


def _quick(client: SourceClient) -> object:
    return client.start(Query("q"), 1, deadline_s=0.2).result()


def test_late_answers_and_a_full_node_are_failures_of_their_kind(stack: ExitStack) -> None:
    place, slow = Place(stack), Slow()
    dialler = Dialler(Desk(slow), place.server.address, None, workers=1, max_concurrent=2, pauses=(0.05, 0.2))
    dialler.start()
    stack.callback(dialler.stop, 0.5)
    stack.callback(slow.let.set)
    assert dialler.connected.wait(PATIENCE)
    (client,) = place.clients
    late = client.start(Query("q"), 1, deadline_s=0.3).result()
    assert isinstance(late, SourceFailure)
    assert late.kind == "deadline"
    waiting = client.start(Query("q"), 1)
    full = client.start(Query("q"), 1).result()
    assert isinstance(full, SourceFailure)
    assert full.kind == "overloaded"
    slow.let.set()
    assert isinstance(waiting.result(), SourceReply)


def test_a_broken_link_fails_what_was_on_its_way(stack: ExitStack) -> None:
    place, slow = Place(stack), Slow()
    dialler = place.dial(slow)
    stack.callback(slow.let.set)
    assert dialler.connected.wait(PATIENCE)
    running = place.clients[0].start(Query("q"), 1)
    assert slow.asked.acquire(timeout=PATIENCE)
    place.hub.close()
    failure = running.result()
    assert isinstance(failure, SourceFailure)
    assert failure.kind == "unavailable"


def test_a_lying_source_harms_its_own_calls_only(stack: ExitStack) -> None:
    place = Place(stack)
    (client,) = place.clients

    def frames(calls: list[pb.TunnelCall], ready: threading.Event) -> Iterator[pb.TunnelReply]:
        yield pb.TunnelReply(call_id=999, reply=b"never asked")
        for reply in (b"\xff\xff", b"", pb.TunnelReply(detail="x" * 100).SerializeToString()):
            assert ready.wait(PATIENCE)
            ready.clear()
            yield pb.TunnelReply(call_id=calls[-1].call_id, reply=reply)
        assert ready.wait(PATIENCE)
        yield pb.TunnelReply(call_id=calls[-1].call_id, status=77, detail="a\nb" * 999)

    calls: list[pb.TunnelCall] = []
    ready = threading.Event()
    with open_channel(place.server.address) as channel:
        stream = channel.stream_stream(
            f"/{SERVICE_NAME}/Serve", pb.TunnelReply.SerializeToString, pb.TunnelCall.FromString
        )(frames(calls, ready), metadata=((SOURCE_KEY, b"clinic"),))
        assert next(stream).call_id == 0
        kinds = []
        for _ in range(4):
            pending = client.start(Query("q"), 1)
            calls.append(next(stream))
            ready.set()
            failure = pending.result()
            assert isinstance(failure, SourceFailure)
            assert len(failure.detail) < 600
            kinds.append(failure.kind)
        stream.cancel()
    assert kinds == ["malformed", "identity", "identity", "internal"]


def test_nobody_dials_without_saying_who_it_is(stack: ExitStack) -> None:
    place = Place(stack)
    with open_channel(place.server.address) as channel:
        for metadata in ((), ((SOURCE_KEY, b"stranger"),), ((SOURCE_KEY, b"clinic"), (SOURCE_KEY, b"x"))):
            stream = channel.stream_stream(f"/{SERVICE_NAME}/Serve")(iter(()), metadata=metadata)
            with pytest.raises(grpc.RpcError) as caught:
                next(stream)
            assert caught.value.code() is grpc.StatusCode.PERMISSION_DENIED


def test_a_source_that_reads_nothing_costs_bounded_memory() -> None:
    session = _Session()
    failures = set()
    for _ in range(4 * MOST_CALLS):
        call = session.start("Retrieve", b"x" * 100, 60.0)
        call.cancel()
        try:
            call.result(0)
        except (grpc.RpcError, grpc.FutureCancelledError) as error:
            failures.add(error.code() if isinstance(error, TunnelError) else "given up")
    assert failures == {"given up", grpc.StatusCode.RESOURCE_EXHAUSTED}
    assert session.outgoing.qsize() <= 2 * MOST_CALLS


def test_a_method_that_nobody_knows_is_no_label_of_the_metrics(stack: ExitStack) -> None:
    place, seen = Place(stack), []
    dialler = Dialler(
        Desk(node()),
        place.server.address,
        pauses=(0.05, 0.2),
        seen=lambda method, code, _seconds: seen.append((method, code)),
    )
    dialler.start()
    stack.callback(dialler.stop, 0.5)
    assert dialler.connected.wait(PATIENCE)
    for method in ("Drop" + "x" * 50, "Describe"):
        call = place.hub.start("clinic", method, b"", PATIENCE)
        if method == "Describe":
            assert call.result(PATIENCE)
        else:
            with pytest.raises(TunnelError) as caught:
                call.result(PATIENCE)
            assert caught.value.code() is grpc.StatusCode.INVALID_ARGUMENT
    until(lambda: len(seen) == 2)
    assert seen == [("other", grpc.StatusCode.INVALID_ARGUMENT), ("Describe", grpc.StatusCode.OK)]


def test_nothing_that_goes_wrong_ends_the_dialler(
    stack: ExitStack, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    place, real, failed = Place(stack), dial.open_channel, threading.Event()

    def once(*arguments: object, **options: object) -> grpc.Channel:
        if not failed.is_set():
            failed.set()
            raise RuntimeError("out of threads, say")
        return real(*arguments, **options)

    monkeypatch.setattr(dial, "open_channel", once)
    assert place.dial(node()).connected.wait(PATIENCE)
    assert "the connection failed" in caplog.text
