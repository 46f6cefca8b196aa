"""Hostile callers over real sockets: whoever they are and whatever they send, no document leaves."""

from __future__ import annotations

import logging
import os
import random
import socket
import ssl
import struct
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import grpc
import pytest
from google.protobuf.message import DecodeError

from core.config import parse
from core.embedding.hashing import HashingEmbedder
from core.errors import WireError
from core.memory import resident_bytes
from core.records import Document, Query
from core.rpc import Server, failure_of, open_channel
from core.tls import TlsFiles
from core.tokens import HEADER, make_proof, new_token, stored_key
from core.wire import from_retrieve_request, to_retrieve_request
from protos import source_node_pb2 as pb
from protos import source_node_pb2_grpc as stubs
from source_node import SourceNode
from source_node.access.admission import Admission
from source_node.access.policy import AccessPolicy
from source_node.access.tokens import TokenGate
from source_node.audit import AuditLog
from source_node.audit_check import verify
from source_node.desk import Desk
from source_node.servicer import NAME, serve
from tests.certificates import Authority

SECRET = "zinc-4711-secret"
QUESTION = to_retrieve_request(Query("zinc", "r"), 3)
PREFACE = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"
PATIENCE = 60.0
BATCH = 48  # below what a server runs at once
LOST = (grpc.StatusCode.UNKNOWN, grpc.StatusCode.DEADLINE_EXCEEDED, grpc.StatusCode.UNAVAILABLE)


def desk(folder: Path, *callers: str) -> Desk:
    policy = parse(AccessPolicy, {"callers": dict.fromkeys(callers)}, "test")
    documents = [Document(f"d{i}", f"{SECRET} zinc {i}") for i in range(10)]
    node = SourceNode("clinic", documents, None, HashingEmbedder(16))
    return Desk(node, admission=Admission(lambda: policy), log=AuditLog(folder / "audit"))


@contextmanager
def running(server: Server) -> Iterator[str]:
    server.start()
    try:
        yield server.address
    finally:
        server.stop(1.0)


class TestWithoutTheRightCertificate:
    @pytest.fixture
    def authority(self, tmp_path: Path) -> Authority:
        return Authority(tmp_path / "authority")

    @pytest.fixture
    def address(self, authority: Authority, tmp_path: Path) -> Iterator[str]:
        with running(
            serve(desk(tmp_path, "aggregator"), "127.0.0.1:0", authority.issue("clinic"))
        ) as address:
            with open_channel(address, authority.issue("aggregator"), "clinic") as channel:
                assert len(stubs.SourceNodeStub(channel).Retrieve(QUESTION, timeout=PATIENCE).documents) == 3
            yield address

    def kind(self, address: str, tls: TlsFiles | None, name: str | None = "clinic") -> str:
        """How each method fails for this caller."""
        kinds = set()
        with open_channel(address, tls, name) as channel:
            stub = stubs.SourceNodeStub(channel)
            for call in (
                lambda: stub.Retrieve(QUESTION, timeout=PATIENCE),
                lambda: stub.Describe(pb.DescribeRequest(), timeout=PATIENCE),
            ):
                with pytest.raises(grpc.RpcError) as caught:
                    call()
                kinds.add(failure_of("clinic", caught.value).kind)
        (kind,) = kinds
        return kind

    def test_no_tls_at_all(self, address: str) -> None:
        assert self.kind(address, None) == "unavailable"

    def test_no_certificate(self, address: str, authority: Authority) -> None:
        credentials = authority.issue("aggregator").channel_credentials(show=False)
        options = [("grpc.ssl_target_name_override", "clinic")]
        with (
            grpc.secure_channel(address, credentials, options) as channel,
            pytest.raises(grpc.RpcError) as caught,
        ):
            stubs.SourceNodeStub(channel).Retrieve(QUESTION, timeout=PATIENCE)
        assert caught.value.code() is grpc.StatusCode.UNAVAILABLE

    def test_another_authority(self, address: str, authority: Authority, tmp_path: Path) -> None:
        stranger = Authority(tmp_path / "stranger").issue("aggregator")
        assert self.kind(address, TlsFiles(stranger.cert, stranger.key, authority.ca)) == "unavailable"

    def test_expired(self, address: str, authority: Authority) -> None:
        assert self.kind(address, authority.issue("aggregator", days=-1)) == "unavailable"

    def test_signed_by_a_party_instead_of_the_authority(self, address: str, authority: Authority) -> None:
        party = authority.issue("party")
        forger = Authority(authority.folder / "forger", "party").issue("aggregator")
        chain = authority.folder / "chain.pem"
        chain.write_bytes(forger.cert.read_bytes() + party.cert.read_bytes())
        assert self.kind(address, TlsFiles(chain, forger.key, authority.ca)) == "unavailable"

    def test_a_good_certificate_of_somebody_else(self, address: str, authority: Authority) -> None:
        assert self.kind(address, authority.issue("mallory")) == "refused"
        assert self.kind(address, authority.issue("aggregator.example")) == "refused"

    def test_a_good_certificate_that_names_the_caller_second(
        self, address: str, authority: Authority
    ) -> None:
        assert self.kind(address, authority.issue("mallory", "aggregator")) == "refused"

    def test_the_right_certificate_of_a_source_under_another_id(
        self, address: str, authority: Authority
    ) -> None:
        assert self.kind(address, authority.issue("aggregator"), "bank") == "identity"


def test_a_replayed_token_gets_nothing(tmp_path: Path) -> None:
    authority, token = Authority(tmp_path / "authority"), new_token("aggregator")
    gate = TokenGate("clinic", lambda: {"aggregator": stored_key(token.secret)})
    tls = authority.issue("clinic")
    with running(serve(desk(tmp_path, "aggregator"), "127.0.0.1:0", tls, identify=gate)) as address:
        with open_channel(address, tls, "clinic", token=token) as channel:
            assert len(stubs.SourceNodeStub(channel).Retrieve(QUESTION, timeout=PATIENCE).documents) == 3
        with open_channel(address, tls, "clinic") as channel:
            stub = stubs.SourceNodeStub(channel)
            seen = ((HEADER, make_proof(token, "clinic", "Retrieve", time.time())),)
            assert len(stub.Retrieve(QUESTION, timeout=PATIENCE, metadata=seen).documents) == 3
            for _ in range(3):
                with pytest.raises(grpc.RpcError) as caught:
                    stub.Retrieve(QUESTION, timeout=PATIENCE, metadata=seen)
                assert caught.value.code() is grpc.StatusCode.UNAUTHENTICATED


class Reading(logging.Handler):
    """Reads every line of the log and keeps none: pytest would keep all, with the frames of their errors."""

    def __init__(self) -> None:
        super().__init__()
        self.lines, self.told = 0, 0

    def emit(self, record: logging.LogRecord) -> None:
        self.lines += 1
        self.told += SECRET in self.format(record)


@contextmanager
def read_log() -> Iterator[Reading]:
    handler, loggers = Reading(), [logging.getLogger(name) for name in ("core", "source_node")]
    before = [each.propagate for each in loggers]
    for each in loggers:
        each.addHandler(handler)
        each.propagate = False
    try:
        yield handler
    finally:
        for each, propagated in zip(loggers, before, strict=True):
            each.removeHandler(handler)
            each.propagate = propagated


class Fuzzer:
    """Malformed messages and frames from a seed, sent to a server as an admitted and as a strange caller."""

    def __init__(self, seed: int) -> None:
        self.rng = random.Random(seed)
        self.well_formed = QUESTION.SerializeToString()

    def message(self) -> bytes:
        """Bytes in place of a request: a good one with some bytes changed, cut, doubled, or none of one."""
        rng, data = self.rng, bytearray(self.well_formed)
        kind = rng.randrange(6)
        if kind == 0:
            return rng.randbytes(rng.randrange(64))
        if kind == 1:
            return bytes(data[: rng.randrange(len(data))])
        if kind == 2:
            return bytes(data) * rng.randrange(2, 5)
        if kind == 3:  # a field of any number and type, with any length
            head = (rng.randrange(1, 20) << 3) | rng.randrange(8)
            return bytes(data) + bytes([head]) + rng.randbytes(rng.randrange(12))
        if kind == 4:
            request = pb.RetrieveRequest(query="zinc" * rng.randrange(3_000), top_k=rng.randrange(2**32))
            request.request_id = "r" * rng.randrange(400)
            request.privacy.mechanism = rng.choice(["", "laplace", "x" * 300])
            request.privacy.epsilon = rng.choice([float("nan"), float("inf"), -1.0, 0.0, 1e308])
            return request.SerializeToString()
        for _ in range(rng.randrange(1, 5)):
            data[rng.randrange(len(data))] = rng.randrange(256)
        return bytes(data)

    def frames(self) -> bytes:
        """HTTP/2 frames of any kind behind a good preface, or bytes that are none."""
        rng = self.rng
        if rng.randrange(4) == 0:
            return rng.randbytes(rng.randrange(1, 200))
        sent = PREFACE + b"\0\0\0\4\0\0\0\0\0"
        for _ in range(rng.randrange(1, 6)):
            body = rng.randbytes(rng.randrange(40))
            length = len(body) if rng.randrange(4) else rng.randrange(2**24)
            head = struct.pack(">I", length)[1:] + bytes([rng.randrange(12), rng.randrange(256)])
            sent += head + struct.pack(">I", rng.choice([0, 1, 3, rng.randrange(2**32)])) + body
        return sent


def _legitimate(data: bytes) -> bool:
    """Whether `data` is a request within the bounds, malformed or not in the eyes of the fuzzer."""
    try:
        from_retrieve_request(pb.RetrieveRequest.FromString(data))
    except (DecodeError, WireError):
        return False
    return True


def _bombard(folder: Path, messages: int, connections: int, seed: int) -> int:
    """How many records the audit log has after all that; every answer is judged on the way."""
    fuzzer, authority = Fuzzer(seed), Authority(folder / "authority")
    tls, logged = authority.issue("clinic"), desk(folder, "aggregator")
    server = serve(logged, "127.0.0.1:0", tls)
    with read_log() as log, running(server) as address:
        methods = [f"/{NAME}/Retrieve", f"/{NAME}/Describe", f"/{NAME}/Nothing", "/x/y", "/" + "z" * 300]
        with (
            open_channel(address, authority.issue("aggregator"), "clinic") as admitted,
            open_channel(address, authority.issue("mallory"), "clinic") as strange,
        ):
            for channel in (admitted, strange):
                grpc.channel_ready_future(channel).result(timeout=PATIENCE)
            held = resident_bytes()
            for start in range(0, messages, BATCH):
                calls = []
                for number in range(start, min(start + BATCH, messages)):
                    data = fuzzer.message()
                    path = methods[0] if number % 3 else fuzzer.rng.choice(methods)
                    channel, known = ((admitted, True), (strange, False))[number % 2]
                    calls.append((known, data, channel.unary_unary(path).future(data, timeout=PATIENCE)))
                for known, data, call in calls:
                    _judge(known, data, call)
        _raw_connections(fuzzer, address, authority, connections)
        with open_channel(address, authority.issue("aggregator"), "clinic") as channel:
            stub = stubs.SourceNodeStub(channel)
            assert len(stub.Retrieve(QUESTION, timeout=PATIENCE).documents) == 3, "the server is still up"
        assert resident_bytes() - held < 200 << 20
        assert log.lines > 0
        assert log.told == 0
    return verify(folder / "audit").records


def _judge(known: bool, data: bytes, call: grpc.Future) -> None:
    """A refusal of a kind that says that the server saw the message; documents only for a good one."""
    code = call.code()
    assert code not in LOST, (code, data)
    if code is not grpc.StatusCode.OK:
        assert SECRET not in (call.details() or "")
        return
    assert known, data
    assert SECRET.encode() not in call.result() or _legitimate(data), data


def _raw_connections(fuzzer: Fuzzer, address: str, authority: Authority, count: int) -> None:
    """Frames over sockets of their own: most inside TLS with a stranger's certificate, some without TLS."""
    host, port = address.rsplit(":", 1)
    mallory = authority.issue("mallory")
    context = ssl.create_default_context(cafile=str(mallory.ca))
    context.check_hostname = False
    context.load_cert_chain(mallory.cert, mallory.key)
    context.set_alpn_protocols(["h2"])
    for number in range(count):
        received = b""
        try:
            with socket.create_connection((host, int(port)), timeout=PATIENCE) as plain:
                if number % 4 == 0:
                    plain.sendall(fuzzer.frames())
                    plain.shutdown(socket.SHUT_WR)
                    received = _drained(plain)
                else:
                    with context.wrap_socket(plain, server_hostname="clinic") as secure:
                        secure.sendall(fuzzer.frames())
                        secure.settimeout(0.02)
                        received = _drained(secure)
        except OSError:
            pass
        assert SECRET.encode() not in received


def _drained(link: socket.socket) -> bytes:
    received = b""
    try:
        while data := link.recv(65_536):
            received += data
    except OSError:
        pass
    return received


def test_hundreds_of_malformed_messages_and_frames(tmp_path: Path) -> None:
    assert _bombard(tmp_path, 480, 20, seed=1) > 0


@pytest.mark.faults
@pytest.mark.timeout(5_400)
def test_a_hundred_thousand_malformed_messages_and_frames(tmp_path: Path) -> None:
    assert _bombard(tmp_path, 99_000, 1_000, seed=int(os.environ.get("SCR_FUZZ_SEED", "2"))) > 0
