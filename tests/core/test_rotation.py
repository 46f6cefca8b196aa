"""Rotated client certificates: shown from the next call on, running calls undisturbed, no restart."""

from __future__ import annotations

import logging
import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import grpc
import pytest

from core.errors import ConfigError
from core.rotation import FollowingChannel, follow_channel
from core.rpc import Server, Service, make_server, open_channel
from core.tls import TlsFiles
from protos import source_node_pb2, source_node_pb2_grpc
from tests.certificates import Authority

SOURCE = "clinic"
PATH = "/securecollarag.v1.SourceNode/Describe"
PATIENCE = 60.0


class WhoShows(source_node_pb2_grpc.SourceNodeServicer):
    """Answers with the caller's certificate; waits first where it was told to."""

    def __init__(self) -> None:
        self.arrived, self.go_on, self.waits = threading.Event(), threading.Event(), False

    def Describe(self, request: Any, context: grpc.ServicerContext) -> source_node_pb2.DescribeReply:
        (pem,) = context.auth_context()["x509_pem_cert"]
        if self.waits:
            self.waits = False
            self.arrived.set()
            assert self.go_on.wait(PATIENCE)
        return source_node_pb2.DescribeReply(source_id=pem.decode())


@pytest.fixture
def authority(tmp_path: Path) -> Authority:
    return Authority(tmp_path / "authority")


@pytest.fixture
def who() -> WhoShows:
    return WhoShows()


@pytest.fixture
def server(authority: Authority, who: WhoShows) -> Iterator[Server]:
    add = source_node_pb2_grpc.add_SourceNodeServicer_to_server
    running = make_server(
        [Service("securecollarag.v1.SourceNode", add, who)], "127.0.0.1:0", authority.issue(SOURCE)
    )
    running.start()
    yield running
    who.go_on.set()
    running.stop(1.0)


def calling(channel: Any) -> Any:
    return channel.unary_unary(
        PATH,
        request_serializer=source_node_pb2.DescribeRequest.SerializeToString,
        response_deserializer=source_node_pb2.DescribeReply.FromString,
    )


def shown(method: Any) -> str:
    reply = method.future(source_node_pb2.DescribeRequest(), timeout=PATIENCE).result(PATIENCE)
    return str(reply.source_id)


def test_the_next_call_shows_the_new_certificate(
    server: Server, authority: Authority, caplog: pytest.LogCaptureFixture
) -> None:
    tls = authority.issue("aggregator")
    channel = follow_channel(server.address, tls, SOURCE, every_s=0)
    method = calling(channel)
    first = shown(method)
    assert first == tls.cert.read_text()
    assert shown(method) == first
    authority.issue("aggregator")
    second = shown(method)
    assert second == tls.cert.read_text() != first
    with caplog.at_level(logging.ERROR):
        other = authority.issue("other")
        tls.cert.write_bytes(other.cert.read_bytes())  # half of a rotation: the key is still the old one
        assert shown(method) == second
        assert "do not fit" in caplog.text
        tls.key.write_bytes(other.key.read_bytes())
        assert shown(method) == other.cert.read_text()
        tls.ca.rename(tls.ca.with_suffix(".gone"))
        assert shown(method) == other.cert.read_text()
    channel.close()


def test_a_call_that_runs_ends_on_the_channel_that_it_began_on(
    server: Server, authority: Authority, who: WhoShows
) -> None:
    tls = authority.issue("aggregator")
    before, closed, opened = tls.cert.read_text(), threading.Event(), []

    class Watching:
        """A real channel that tells when it is closed."""

        def __init__(self) -> None:
            self.inner = open_channel(server.address, tls, SOURCE)
            opened.append(self)

        def unary_unary(self, *arguments: Any, **options: Any) -> Any:
            return self.inner.unary_unary(*arguments, **options)

        def close(self) -> None:
            self.inner.close()
            if self is opened[0]:
                closed.set()

    channel = FollowingChannel(tls, Watching, every_s=0)  # type: ignore[arg-type]
    method = calling(channel)
    who.waits = True
    running = method.future(source_node_pb2.DescribeRequest(), timeout=PATIENCE)
    assert who.arrived.wait(PATIENCE)
    authority.issue("aggregator")
    assert shown(method) == tls.cert.read_text() != before
    assert not closed.is_set()
    who.go_on.set()
    assert running.result(PATIENCE).source_id == before
    assert closed.wait(PATIENCE)
    assert len(opened) == 2
    channel.close()


def test_many_threads_lose_no_call_while_files_change(server: Server, authority: Authority) -> None:
    tls = authority.issue("aggregator")
    issued = [authority.issue(f"next{i}") for i in range(6)]
    known = {each.cert.read_text() for each in (tls, *issued)}
    channel = follow_channel(server.address, tls, SOURCE, every_s=0)
    method = calling(channel)
    with ThreadPoolExecutor(4) as pool:
        calls = []
        for each in issued:
            calls += [pool.submit(shown, method) for _ in range(8)]
            tls.cert.write_bytes(each.cert.read_bytes())
            tls.key.write_bytes(each.key.read_bytes())
        assert {call.result(PATIENCE) for call in calls} <= known
    assert shown(method) == issued[-1].cert.read_text()
    channel.close()


def test_without_tls_there_is_nothing_to_follow() -> None:
    channel = follow_channel("127.0.0.1:1")
    assert not isinstance(channel, FollowingChannel)
    channel.close()


def test_files_that_do_not_fit_are_told_at_once(authority: Authority) -> None:
    ours, theirs = authority.issue("aggregator"), authority.issue("other")
    with pytest.raises(ConfigError, match="do not fit"):
        follow_channel("127.0.0.1:1", TlsFiles(ours.cert, theirs.key, ours.ca), SOURCE)
