"""The node over real gRPC: honest answers, hostile callers, and what a caller sees of a hostile node."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import grpc
import pytest

from core.embedding.hashing import HashingEmbedder
from core.errors import ConfigError, EmbeddingError, WireError
from core.records import Document, NodeDescription, PrivacyRequest, Query, RetrievedDocument, SourceReply
from core.rpc import Server, Service, failure_of, make_server, open_channel
from core.tls import TlsFiles
from core.wire import from_describe_reply, from_retrieve_reply, to_retrieve_request
from protos import source_node_pb2 as pb
from protos import source_node_pb2_grpc as stubs
from protos import types_pb2
from source_node import SourceNode
from source_node.servicer import NAME, fitting, serve
from tests.certificates import Authority

DOCUMENTS = [Document(f"d{i}", f"document {i} about zinc", "Title", "mining") for i in range(30)]


class Told:
    """A node that does what it is told."""

    def __init__(self, retrieve: Callable[[Query, int, PrivacyRequest | None], SourceReply]) -> None:
        self.retrieve = retrieve

    def describe(self) -> NodeDescription:
        return NodeDescription("s", 1, "told", max_top_k=100)


@contextmanager
def running(server: Server, tls: TlsFiles | None = None, name: str = "s") -> Iterator[stubs.SourceNodeStub]:
    server.start()
    try:
        with open_channel(server.address, tls, name) as channel:
            yield stubs.SourceNodeStub(channel)
    finally:
        server.stop(0.5)


def local(node: Any, **options: Any) -> Server:
    return serve(node, "127.0.0.1:0", insecure=True, **options)


def failed(call: Callable[[], object]) -> tuple[str, str]:
    with pytest.raises(grpc.RpcError) as caught:
        call()
    return failure_of("s", caught.value).kind, caught.value.details()


def test_a_question_travels_there_and_back() -> None:
    node = SourceNode("s", DOCUMENTS, None, HashingEmbedder(64))
    with running(local(node)) as stub:
        request = to_retrieve_request(Query("zinc 7", "r1"), 5)
        reply = from_retrieve_reply(stub.Retrieve(request, timeout=5), "s", request_id="r1", top_k=5)
        assert reply.documents == node.retrieve(Query("zinc 7"), 5).documents
        described = from_describe_reply(stub.Describe(pb.DescribeRequest(), timeout=5), "s")
    assert described == node.describe()


def test_the_servers_own_limit_on_documents_holds() -> None:
    with running(local(SourceNode("s", DOCUMENTS, None, HashingEmbedder(64)), max_top_k=3)) as stub:
        reply = stub.Retrieve(to_retrieve_request(Query("zinc"), 20), timeout=5)
        assert len(reply.documents) == 3
        assert stub.Describe(pb.DescribeRequest(), timeout=5).max_top_k == 3


@pytest.mark.parametrize(
    "request_",
    [
        pb.RetrieveRequest(query="", top_k=5),
        pb.RetrieveRequest(query="q" * 8_193, top_k=5),
        pb.RetrieveRequest(query="q", top_k=0),
        pb.RetrieveRequest(query="q", top_k=101),
        pb.RetrieveRequest(query="q", top_k=5, request_id="r" * 257),
        pb.RetrieveRequest(
            query="q", top_k=5, privacy=types_pb2.Privacy(mechanism="laplace", epsilon=float("nan"))
        ),
    ],
)
def test_a_request_out_of_bounds_is_refused_before_the_node_sees_it(request_: pb.RetrieveRequest) -> None:
    def never(*_: object) -> SourceReply:
        raise AssertionError("the node was asked")

    with running(local(Told(never))) as stub:
        kind, sentence = failed(lambda: stub.Retrieve(request_, timeout=5))
    assert (kind, sentence) == ("refused", "the message breaks the bounds of the protocol")


def test_a_request_for_privacy_that_is_not_offered_is_refused() -> None:
    request = to_retrieve_request(Query("zinc"), 5, PrivacyRequest("laplace", 1.0))
    with running(local(SourceNode("s", DOCUMENTS, None, HashingEmbedder(64)))) as stub:
        assert failed(lambda: stub.Retrieve(request, timeout=5)) == ("refused", "not allowed")


def test_a_failing_node_gives_no_private_detail() -> None:
    def fail(*_: object) -> SourceReply:
        raise EmbeddingError("/srv/private/model is gone")

    with running(local(Told(fail))) as stub:
        found = failed(lambda: stub.Retrieve(to_retrieve_request(Query("q"), 5), timeout=5))
    assert found == ("unavailable", "the embedding model is unavailable")


def test_a_node_that_answers_late_misses_the_deadline() -> None:
    def late(query: Query, *_: object) -> SourceReply:
        time.sleep(1.0 if query.text == "slow" else 0.0)
        return SourceReply("s", ())

    with running(local(Told(late))) as stub:
        assert (
            failed(lambda: stub.Retrieve(to_retrieve_request(Query("slow"), 5), timeout=0.2))[0] == "deadline"
        )
        assert stub.Retrieve(to_retrieve_request(Query("quick"), 5), timeout=5).source_id == "s"


def test_documents_that_break_the_bounds_do_not_leave() -> None:
    for text in ("", "x" * 1_000_000, "a\ud800"):
        reply = SourceReply("s", (RetrievedDocument("s", "d", text),))
        with running(local(Told(lambda *_, reply=reply: reply))) as stub:
            found = failed(lambda stub=stub: stub.Retrieve(to_retrieve_request(Query("q"), 5), timeout=5))
        assert found == ("internal", "the service's data is unusable")


def test_a_reply_that_would_be_too_large_loses_its_last_documents() -> None:
    documents = tuple(RetrievedDocument("s", f"d{i}", "é" * 100_000) for i in range(30))
    with running(local(Told(lambda *_: SourceReply("s", documents)), max_top_k=30)) as stub:
        reply = stub.Retrieve(to_retrieve_request(Query("q"), 30), timeout=10)
    assert [d.doc_id for d in reply.documents] == [f"d{i}" for i in range(20)]
    small = SourceReply("s", documents[:3])
    assert fitting(small) == small


class Raw(grpc.GenericRpcHandler):
    """A hostile node: answers every call with `data`."""

    def __init__(self, data: bytes) -> None:
        self.data = data

    def service(self, details: grpc.HandlerCallDetails) -> grpc.RpcMethodHandler:
        return grpc.unary_unary_rpc_method_handler(lambda request, context: self.data)


def hostile(data: bytes) -> Server:
    service = Service(NAME, lambda raw, server: server.add_generic_rpc_handlers((raw,)), Raw(data))
    return make_server([service], "127.0.0.1:0", insecure=True, max_message_bytes=20_000_000)


def document(**fields: object) -> bytes:
    reply = pb.RetrieveReply(
        source_id="s", documents=[types_pb2.Document(**{"doc_id": "d", "text": "t", **fields})]
    )
    return reply.SerializeToString()


@pytest.mark.parametrize(
    ("data", "kind"),
    [
        (document(text="x" * 10_000_000), "oversized"),
        (document(text="x" * 1_000_000), "malformed"),
        (document(text=""), "malformed"),
        (document(text=" \n\t "), "malformed"),
        (document(score=float("nan")), "malformed"),
        (document(text="AAAA").replace(b"AAAA", b"A\xff\xfeA"), "malformed"),
        (pb.RetrieveReply(source_id="someone else").SerializeToString(), "identity"),
        (b"", "identity"),
        (b"\xff\xff\xff\xff", "malformed"),
    ],
)
def test_what_a_hostile_node_sends_is_a_failure_of_a_kind(data: bytes, kind: str) -> None:
    with running(hostile(data)) as stub:
        try:
            from_retrieve_reply(stub.Retrieve(to_retrieve_request(Query("q"), 5), timeout=10), "s")
        except WireError as error:
            found = error.kind
        except grpc.RpcError as error:
            found = failure_of("s", error).kind
    assert found == kind


class TestIdentity:
    """Mutual TLS: who serves and who asks."""

    @pytest.fixture
    def authority(self, tmp_path: Path) -> Authority:
        return Authority(tmp_path)

    def test_the_node_learns_who_asks_from_the_certificate_alone(self, authority: Authority) -> None:
        seen: list[Query] = []

        def look(query: Query, *_: object) -> SourceReply:
            seen.append(query)
            return SourceReply("s", ())

        with running(
            serve(Told(look), "127.0.0.1:0", authority.issue("s")), authority.issue("hospital-7")
        ) as stub:
            stub.Retrieve(to_retrieve_request(Query("q", user_id="mallory"), 5), timeout=5)
        assert [query.user_id for query in seen] == ["hospital-7"]
        with running(local(Told(look))) as stub:
            stub.Retrieve(to_retrieve_request(Query("q", user_id="mallory"), 5), timeout=5)
        assert seen[-1].user_id == ""

    def test_a_caller_without_a_certificate_gets_nothing(self, authority: Authority) -> None:
        node = Told(lambda *_: SourceReply("s", ()))
        with running(serve(node, "127.0.0.1:0", authority.issue("s"))) as stub:
            assert failed(lambda: stub.Describe(pb.DescribeRequest(), timeout=5))[0] == "unavailable"

    def test_a_node_cannot_pass_for_another_source(self, authority: Authority) -> None:
        server = serve(Told(lambda *_: SourceReply("s", ())), "127.0.0.1:0", authority.issue("s"))
        with running(server, authority.issue("aggregator"), name="other") as stub:
            assert failed(lambda: stub.Describe(pb.DescribeRequest(), timeout=5))[0] == "identity"

    def test_a_certificate_for_another_id_shows_before_serving(self, authority: Authority) -> None:
        with pytest.raises(ConfigError, match="peers would refuse it as 's'"):
            serve(Told(lambda *_: SourceReply("s", ())), "127.0.0.1:0", authority.issue("other"))
