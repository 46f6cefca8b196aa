"""Metrics of a server: what ended, how and how fast, and nobody's words."""

from __future__ import annotations

import sys
import urllib.request
from collections.abc import Iterator

import grpc
import pytest

from core.errors import AccessError, ConfigError, MissingPackageError
from core.metrics import Metrics
from core.rpc import Service, make_server, open_channel, translating
from protos import source_node_pb2 as pb
from protos import source_node_pb2_grpc as stubs


class Node(stubs.SourceNodeServicer):
    def Describe(self, request, context):
        return pb.DescribeReply(source_id="s")

    def Retrieve(self, request, context):
        with translating(context):
            raise AccessError(f"no {request.query}")


@pytest.fixture
def metrics() -> Iterator[Metrics]:
    made = Metrics()
    yield made
    made.close()


def page(address: str) -> str:
    with urllib.request.urlopen(f"http://{address}/metrics", timeout=30) as reply:
        return reply.read().decode()


def test_calls_are_counted_by_method_and_status(metrics: Metrics) -> None:
    metrics.gauge("scr_documents", "Documents.", lambda: 7)
    metrics.counter("scr_documents_sent", "Documents that left.")(3)
    service = Service("securecollarag.v1.SourceNode", stubs.add_SourceNodeServicer_to_server, Node())
    server = make_server([service], "127.0.0.1:0", insecure=True, interceptors=(metrics.interceptor(),))
    server.start()
    at = metrics.serve("127.0.0.1:0")
    try:
        with open_channel(server.address) as channel:
            stub = stubs.SourceNodeStub(channel)
            for _ in range(2):
                stub.Describe(pb.DescribeRequest(), timeout=30)
            with pytest.raises(grpc.RpcError):
                stub.Retrieve(pb.RetrieveRequest(query="private words"), timeout=30)
            with pytest.raises(grpc.RpcError):
                channel.unary_unary("/securecollarag.v1.SourceNode/Invented")(b"", timeout=30)
        found = page(at)
    finally:
        server.stop(1.0)
    assert 'scr_requests_total{code="OK",method="Describe"} 2.0' in found
    assert 'scr_requests_total{code="PERMISSION_DENIED",method="Retrieve"} 1.0' in found
    assert 'scr_request_seconds_count{method="Describe"} 2.0' in found
    assert "scr_documents 7.0" in found
    assert "scr_documents_sent_total 3.0" in found
    assert "scr_requests_running 0.0" in found
    assert "process_resident_memory_bytes" in found
    assert "private" not in found
    assert "Invented" not in found


def test_a_taken_port_is_told(metrics: Metrics) -> None:
    other = Metrics()
    at = other.serve("127.0.0.1:0")
    with pytest.raises(ConfigError, match="cannot offer metrics"):
        metrics.serve(at)
    other.close()
    other.close()


def test_a_missing_package_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "prometheus_client", None)
    with pytest.raises(MissingPackageError, match=r"securecollarag\[node\]"):
        Metrics()


def test_totals_are_read_when_somebody_looks(metrics: Metrics) -> None:
    counts = {"name": 1}
    metrics.totals("scr_removed", "What went.", "kind", lambda: counts)
    address = metrics.serve("127.0.0.1:0")
    counts["date"] = 3
    assert 'scr_removed_total{kind="name"} 1.0' in page(address)
    assert 'scr_removed_total{kind="date"} 3.0' in page(address)
