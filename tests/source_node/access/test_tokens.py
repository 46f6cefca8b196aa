"""Tokens over real TLS: who holds one is known, and no proof is good twice."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import grpc
import pytest

from core.cli import main
from core.embedding.hashing import HashingEmbedder
from core.errors import AuthenticationError, ConfigError, OverloadError
from core.records import Document, Query
from core.rpc import open_channel
from core.tokens import HEADER, Token, make_proof, new_token, stored_key
from core.wire import to_retrieve_request
from protos import source_node_pb2 as pb
from protos import source_node_pb2_grpc as stubs
from source_node import SourceNode
from source_node.access.tokens import TokenGate, add_token, read_tokens
from source_node.servicer import serve
from tests.certificates import Authority

TOKEN = new_token("aggregator")


class Clock:
    now = 1_800_000_000.0

    def __call__(self) -> float:
        return self.now


def gate(clock: Clock, **options: int) -> TokenGate:
    return TokenGate("clinic", lambda: {"aggregator": stored_key(TOKEN.secret)}, clock=clock, **options)


def proof(now: float, method: str = "Retrieve", token: Token = TOKEN) -> str:
    return make_proof(token, "clinic", method, now)


def test_a_proof_is_good_once() -> None:
    clock = Clock()
    door, value = gate(clock), proof(clock.now)
    assert door.check(value, "Retrieve") == "aggregator"
    with pytest.raises(AuthenticationError, match="used before"):
        door.check(value, "Retrieve")
    assert door.check(proof(clock.now), "Retrieve") == "aggregator"


@pytest.mark.parametrize("seconds", [-61.0, 61.0])
def test_a_proof_is_good_for_a_minute(seconds: float) -> None:
    clock = Clock()
    door = gate(clock)
    clock.now += 600
    with pytest.raises(AuthenticationError, match="not of this minute"):
        door.check(proof(clock.now + seconds), "Retrieve")
    assert door.check(proof(clock.now + seconds / 2), "Retrieve")


def test_neither_time_nor_a_clock_set_back_nor_a_restart_makes_a_proof_good_again() -> None:
    clock = Clock()
    door, value = gate(clock), proof(clock.now)
    door.check(value, "Retrieve")
    made = clock.now
    for now in (made + 59, made + 61, made + 3_600, made, made - 30, made + 5):
        clock.now = now
        with pytest.raises(AuthenticationError):
            door.check(value, "Retrieve")
    clock.now = made + 5
    with pytest.raises(AuthenticationError, match="not of this minute"):
        gate(clock).check(value, "Retrieve")


def test_strangers_fill_no_memory_and_a_full_memory_refuses() -> None:
    clock = Clock()
    door = gate(clock, most=3)
    for _ in range(10):
        with pytest.raises(AuthenticationError):
            door.check(proof(clock.now, token=new_token("aggregator")), "Retrieve")
        with pytest.raises(AuthenticationError):
            door.check(proof(clock.now, token=new_token("stranger")), "Retrieve")
    for _ in range(3):
        door.check(proof(clock.now), "Retrieve")
    with pytest.raises(OverloadError):
        door.check(proof(clock.now), "Retrieve")
    clock.now += 61
    assert door.check(proof(clock.now), "Retrieve")


@contextmanager
def running(folder: Path, keys: dict[str, str]) -> Iterator[tuple[str, Authority]]:
    authority = Authority(folder)
    node = SourceNode("clinic", [Document("d", "zinc")], None, HashingEmbedder(16))
    server = serve(node, "127.0.0.1:0", authority.issue("clinic"), identify=TokenGate("clinic", lambda: keys))
    server.start()
    try:
        yield server.address, authority
    finally:
        server.stop(0.5)


def test_over_tls_a_caller_needs_a_token_and_no_certificate(tmp_path: Path) -> None:
    request = to_retrieve_request(Query("zinc"), 1)
    with running(tmp_path, {"aggregator": stored_key(TOKEN.secret)}) as (address, authority):
        tls = authority.issue("somebody")
        with open_channel(address, tls, "clinic", token=TOKEN) as channel:
            stub = stubs.SourceNodeStub(channel)
            for _ in range(3):
                assert len(stub.Retrieve(request, timeout=30).documents) == 1
            assert stub.Describe(pb.DescribeRequest(), timeout=30).source_id == "clinic"
        value = make_proof(TOKEN, "clinic", "Retrieve", time.time())
        with open_channel(address, tls, "clinic") as channel:
            stub = stubs.SourceNodeStub(channel)
            taken = stub.Retrieve(request, timeout=30, metadata=((HEADER, value),))
            assert len(taken.documents) == 1
            for metadata in (
                ((HEADER, value),),
                (),
                ((HEADER, "1 aggregator"),),
                ((HEADER, make_proof(Token("aggregator", "guess"), "clinic", "Retrieve", 0.0)),),
            ):
                with pytest.raises(grpc.RpcError) as caught:
                    stub.Retrieve(request, timeout=30, metadata=metadata)
                assert caught.value.code() is grpc.StatusCode.UNAUTHENTICATED
                assert caught.value.details() == "who calls was not proved"


def test_the_file_keeps_what_checks_a_token_and_not_the_token(tmp_path: Path, capsys) -> None:
    path = tmp_path / "tokens.yaml"
    assert main(["source", "token", "--tokens", str(path), "--name", "aggregator"]) == 0
    secret = capsys.readouterr().out.strip()
    assert secret not in path.read_text()
    assert read_tokens(path) == {"aggregator": stored_key(secret)}
    other = add_token(path, "study")
    assert read_tokens(path) == {"aggregator": stored_key(secret), "study": stored_key(other.secret)}
    add_token(path, "study")
    assert read_tokens(path)["study"] != stored_key(other.secret)
    path.write_text("tokens: {a: abc}")
    with pytest.raises(ConfigError, match="not a stored key"):
        read_tokens(path)
