"""Errors as statuses, limits, deadlines, ports of one's own, health, reflection, a graceful end."""

from __future__ import annotations

import logging
import os
import signal
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager

import grpc
import pytest
from grpc_health.v1 import health_pb2, health_pb2_grpc
from grpc_reflection.v1alpha import reflection_pb2, reflection_pb2_grpc

from core import errors
from core.errors import ConfigError
from core.rpc import (
    STATUSES,
    Server,
    Service,
    close_channel,
    failure_of,
    make_server,
    open_channel,
    parse_address,
    status_of,
    translating,
)
from protos import source_node_pb2 as pb
from protos import source_node_pb2_grpc as stubs

NAME = "securecollarag.v1.SourceNode"


class Scripted(stubs.SourceNodeServicer):
    """Runs `script(query)` for every Retrieve."""

    def __init__(self, script) -> None:
        self.script = script

    def Retrieve(self, request, context):
        with translating(context):
            return self.script(request.query) or pb.RetrieveReply(source_id="s")


@contextmanager
def serving(script=lambda query: None, **options) -> Iterator[tuple[Server, stubs.SourceNodeStub]]:
    service = Service(NAME, stubs.add_SourceNodeServicer_to_server, Scripted(script))
    server = make_server([service], "127.0.0.1:0", insecure=True, **options)
    server.start()
    try:
        with open_channel(server.address) as channel:
            yield server, stubs.SourceNodeStub(channel)
    finally:
        server.stop(0.5)


def failure(call) -> errors.ScrError:
    with pytest.raises(grpc.RpcError) as caught:
        call()
    return failure_of("s", caught.value)


def test_every_error_class_has_a_status() -> None:
    kinds = [k for k in vars(errors).values() if isinstance(k, type) and issubclass(k, errors.ScrError)]
    assert set(kinds) == set(STATUSES)
    assert grpc.StatusCode.OK not in {code for code, _ in STATUSES.values()}


def test_a_subclass_takes_its_parents_status_and_anything_else_is_internal() -> None:
    class Special(errors.AccessError):
        pass

    assert status_of(Special("x")) == STATUSES[errors.AccessError]
    assert status_of(ZeroDivisionError())[0] is grpc.StatusCode.INTERNAL


def test_the_message_goes_to_the_log_and_the_sentence_to_the_peer(caplog) -> None:
    def secret(query: str) -> None:
        raise errors.AccessError("patient 4711 is off limits")

    with (
        caplog.at_level(logging.WARNING),
        serving(secret) as (_, stub),
        pytest.raises(grpc.RpcError) as caught,
    ):
        stub.Retrieve(pb.RetrieveRequest(query="q"), timeout=5)
    assert caught.value.code() is grpc.StatusCode.PERMISSION_DENIED
    assert caught.value.details() == "not allowed"
    assert "patient 4711" in caplog.text
    assert failure_of("s", caught.value).kind == "refused"


def test_a_bug_is_an_internal_error_without_its_text(caplog) -> None:
    def bug(query: str) -> None:
        raise ZeroDivisionError("secret arithmetic")

    with serving(bug) as (_, stub):
        gone = failure(lambda: stub.Retrieve(pb.RetrieveRequest(query="q"), timeout=5))
    assert (gone.kind, gone.detail) == ("internal", "INTERNAL: internal error")
    assert "secret arithmetic" in caplog.text


def test_an_abort_of_the_servicer_itself_stays_as_it_is() -> None:
    class Aborting(stubs.SourceNodeServicer):
        def Retrieve(self, request, context):
            with translating(context):
                context.abort(grpc.StatusCode.NOT_FOUND, "gone")

    service = Service(NAME, stubs.add_SourceNodeServicer_to_server, Aborting())
    server = make_server([service], "127.0.0.1:0", insecure=True)
    server.start()
    with open_channel(server.address) as channel:
        gone = failure(lambda: stubs.SourceNodeStub(channel).Retrieve(pb.RetrieveRequest(), timeout=5))
    server.stop(0)
    assert gone.detail == "NOT_FOUND: gone"


def test_bytes_that_are_no_message_are_refused_without_a_traceback(caplog) -> None:
    with serving() as (server, stub), open_channel(server.address) as channel:
        raw = channel.unary_unary(f"/{NAME}/Retrieve")
        for data in (b"\x0a\x02\xff\xfe", b"\xff\xff\xff"):  # a query that is not UTF-8; no message at all
            gone = failure(lambda data=data: raw(data, timeout=5))
            assert gone.kind == "refused"
        assert "Traceback" not in caplog.text
        assert stub.Retrieve(pb.RetrieveRequest(query="still here"), timeout=5).source_id == "s"


def test_a_message_over_the_limit_is_oversized_in_either_direction() -> None:
    big = pb.RetrieveReply(source_id="s", request_id="x" * 10_000_000)
    with serving(lambda query: big, max_message_bytes=20_000_000) as (_, stub):
        gone = failure(lambda: stub.Retrieve(pb.RetrieveRequest(query="q"), timeout=5))
        assert gone.kind == "oversized"
    with serving() as (server, stub):
        with open_channel(server.address, max_message_bytes=20_000_000) as wide:
            call = stubs.SourceNodeStub(wide).Retrieve
            gone = failure(lambda: call(pb.RetrieveRequest(query="x" * 10_000_000), timeout=5))
            assert gone.kind == "oversized"
        assert stub.Retrieve(pb.RetrieveRequest(query="still here"), timeout=5).source_id == "s"


def test_a_late_answer_is_a_missed_deadline_and_not_a_wait() -> None:
    release = threading.Event()
    with serving(lambda query: release.wait(5) and None) as (_, stub):
        started = time.perf_counter()
        gone = failure(lambda: stub.Retrieve(pb.RetrieveRequest(query="q"), timeout=0.2))
        assert gone.kind == "deadline"
        assert time.perf_counter() - started < 2
        release.set()


def test_calls_beyond_the_limit_are_refused_as_overload() -> None:
    release, running = threading.Event(), threading.Semaphore(0)

    def slow(query: str) -> None:
        running.release()
        release.wait(10)

    with serving(slow, workers=2, max_concurrent=2) as (_, stub):
        calls = [stub.Retrieve.future(pb.RetrieveRequest(query="q"), timeout=20) for _ in range(2)]
        for _ in calls:
            assert running.acquire(timeout=10)
        gone = failure(lambda: stub.Retrieve(pb.RetrieveRequest(query="q"), timeout=5))
        release.set()
        assert [call.result().source_id for call in calls] == ["s", "s"]
    assert gone.kind == "overloaded"


def test_a_call_whose_caller_gave_up_is_not_run() -> None:
    release, begun = threading.Event(), []

    def slow(query: str) -> None:
        begun.append(query)
        release.wait(10)

    with serving(slow, workers=1) as (_, stub):
        first = stub.Retrieve.future(pb.RetrieveRequest(query="first"), timeout=20)
        while not begun:
            time.sleep(0.01)
        assert (
            failure(lambda: stub.Retrieve(pb.RetrieveRequest(query="queued"), timeout=0.2)).kind == "deadline"
        )
        time.sleep(0.3)
        release.set()
        first.result()
        stub.Retrieve(pb.RetrieveRequest(query="last"), timeout=5)
    assert begun == ["first", "last"]


def test_a_dead_peer_is_unavailable() -> None:
    with serving() as (server, _):
        address = server.address
    with open_channel(address) as channel:
        gone = failure(lambda: stubs.SourceNodeStub(channel).Retrieve(pb.RetrieveRequest(), timeout=5))
    assert gone.kind == "unavailable"


def test_a_restarted_peer_is_found_again() -> None:
    with serving() as (server, _):
        address = server.address
    with open_channel(address) as channel:
        stub = stubs.SourceNodeStub(channel)
        failure(lambda: stub.Retrieve(pb.RetrieveRequest(), timeout=5))
        service = Service(NAME, stubs.add_SourceNodeServicer_to_server, Scripted(lambda query: None))
        again = make_server([service], address, insecure=True)
        again.start()
        reply = stub.Retrieve(pb.RetrieveRequest(query="q"), timeout=10, wait_for_ready=True)
        again.stop(0)
    assert reply.source_id == "s"


def test_a_second_server_on_the_same_port_fails_clearly() -> None:
    with (
        serving() as (server, _),
        pytest.raises(ConfigError, match=f"cannot listen on {server.address}: the port"),
    ):
        make_server([], server.address, insecure=True)


def test_health_follows_the_servers_life() -> None:
    release, running = threading.Event(), threading.Event()

    def slow(query: str) -> None:
        running.set()
        release.wait(10)

    service = Service(NAME, stubs.add_SourceNodeServicer_to_server, Scripted(slow))
    server = make_server([service], "127.0.0.1:0", insecure=True)
    server.start()
    with open_channel(server.address) as channel:
        checks = health_pb2_grpc.HealthStub(channel)
        serving_now = health_pb2.HealthCheckResponse.SERVING
        for name in ("", NAME):
            assert checks.Check(health_pb2.HealthCheckRequest(service=name), timeout=5).status == serving_now
        with pytest.raises(grpc.RpcError) as caught:
            checks.Check(health_pb2.HealthCheckRequest(service="unknown"), timeout=5)
        assert caught.value.code() is grpc.StatusCode.NOT_FOUND
        watched = iter(checks.Watch(health_pb2.HealthCheckRequest(service=NAME), timeout=20))
        assert next(watched).status == serving_now

        call = stubs.SourceNodeStub(channel).Retrieve.future(pb.RetrieveRequest(query="q"), timeout=20)
        assert running.wait(10)
        stopping = threading.Thread(target=server.stop, args=(10.0,))
        stopping.start()
        assert next(watched).status == health_pb2.HealthCheckResponse.NOT_SERVING
        release.set()
        assert call.result().source_id == "s", "a running call ends within the grace"
        stopping.join(15)
    assert not stopping.is_alive()
    assert server.wait(1.0)
    server.stop()  # once more does no harm


def test_reflection_lists_the_services() -> None:
    with serving() as (server, _), open_channel(server.address) as channel:
        ask = reflection_pb2_grpc.ServerReflectionStub(channel).ServerReflectionInfo
        replies = ask(iter([reflection_pb2.ServerReflectionRequest(list_services="")]), timeout=5)
        names = {service.name for service in next(replies).list_services_response.service}
    assert {NAME, "grpc.health.v1.Health"} <= names


def test_a_server_runs_until_it_is_told_to_stop() -> None:
    before = signal.getsignal(signal.SIGTERM)
    server = make_server([], "127.0.0.1:0", insecure=True)
    lines: list[str] = []

    def announced(line: str) -> None:
        lines.append(line)
        threading.Timer(0.1, os.kill, (os.getpid(), signal.SIGTERM)).start()

    server.run_until_signal(announced, grace=0.5)
    assert lines == [f"listening {server.address}"]
    assert server.wait(1.0)
    assert signal.getsignal(signal.SIGTERM) is before


@pytest.mark.parametrize("listen", ["0.0.0.0:0", "[::]:0", "192.0.2.1:0", "example.org:80"])
def test_without_tls_only_loopback_is_served(listen: str) -> None:
    with pytest.raises(ConfigError, match="only a loopback address"):
        make_server([], listen, insecure=True)


def test_a_closed_cluster_may_serve_without_tls() -> None:
    server = make_server([], "0.0.0.0:0", insecure=True, allow_remote_insecure=True)
    assert server.address.startswith("0.0.0.0:")
    server.stop(0)


def test_a_server_is_either_secure_or_insecure() -> None:
    with pytest.raises(ConfigError, match="either TLS files or insecure"):
        make_server([], "127.0.0.1:0")


@pytest.mark.parametrize("address", ["", "host", ":80", "host:", "host:x", "host:70000", "::1:80", "host:-1"])
def test_an_address_is_host_and_port(address: str) -> None:
    with pytest.raises(ConfigError, match="not an address HOST:PORT"):
        parse_address(address)
    with pytest.raises(ConfigError):
        open_channel(address)


def test_good_addresses() -> None:
    assert parse_address("localhost:0") == ("localhost", 0)
    assert parse_address("[::1]:5001") == ("[::1]", 5001)


def test_a_reply_that_is_no_message_is_malformed() -> None:
    class Raw(grpc.GenericRpcHandler):
        def service(self, details):
            return grpc.unary_unary_rpc_method_handler(lambda request, context: b"\x0a\x02\xff\xfe")

    service = Service(NAME, lambda servicer, server: server.add_generic_rpc_handlers((Raw(),)), None)
    server = make_server([service], "127.0.0.1:0", insecure=True)
    server.start()
    with open_channel(server.address) as channel:
        gone = failure(lambda: stubs.SourceNodeStub(channel).Retrieve(pb.RetrieveRequest(), timeout=5))
    server.stop(0)
    assert gone.kind == "malformed"


def test_a_channel_whose_close_never_ends_is_left_behind() -> None:
    ended = threading.Event()

    class Stuck:
        def close(self) -> None:
            ended.wait(60)

    assert not close_channel(Stuck(), patience_s=0.05)
    ended.set()
    with serving() as (server, _):
        assert close_channel(open_channel(server.address))
