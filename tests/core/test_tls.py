"""Mutual TLS over real sockets with real certificates."""

from __future__ import annotations

import socket
import ssl
from collections.abc import Iterator
from pathlib import Path

import grpc
import pytest
from cryptography import x509

import core.tls
from core.errors import ConfigError
from core.rpc import Server, Service, failure_of, make_server, open_channel
from core.tls import TlsFiles, check_server_name, peer_identities, peer_identity, tls_from_flags
from protos import source_node_pb2, source_node_pb2_grpc
from tests.certificates import Authority

SOURCE = "clinic_3"


class WhoAmI(source_node_pb2_grpc.SourceNodeServicer):
    """Answers with the caller's certified names."""

    def Describe(self, request, context):
        return source_node_pb2.DescribeReply(
            source_id=peer_identity(context) or "nobody", privacy_mechanisms=peer_identities(context)
        )


@pytest.fixture(scope="module")
def authority(tmp_path_factory: pytest.TempPathFactory) -> Authority:
    return Authority(tmp_path_factory.mktemp("authority"))


@pytest.fixture(scope="module")
def stranger(tmp_path_factory: pytest.TempPathFactory) -> Authority:
    return Authority(tmp_path_factory.mktemp("stranger"), "another authority")


@pytest.fixture(scope="module")
def server(authority: Authority) -> Iterator[Server]:
    service = Service(
        "securecollarag.v1.SourceNode", source_node_pb2_grpc.add_SourceNodeServicer_to_server, WhoAmI()
    )
    running = make_server([service], "127.0.0.1:0", authority.issue(SOURCE))
    running.start()
    yield running
    running.stop(1.0)


def ask(server: Server, tls: TlsFiles | None, name: str | None = SOURCE) -> source_node_pb2.DescribeReply:
    with open_channel(server.address, tls, name) as channel:
        stub = source_node_pb2_grpc.SourceNodeStub(channel)
        return stub.Describe(source_node_pb2.DescribeRequest(), timeout=5)


def refusal(server: Server, tls: TlsFiles | None, name: str | None = SOURCE) -> str:
    with pytest.raises(grpc.RpcError) as caught:
        ask(server, tls, name)
    return failure_of(SOURCE, caught.value).kind


def test_the_caller_is_known_by_its_certificate(server: Server, authority: Authority) -> None:
    reply = ask(server, authority.issue("aggregator", "aggregator.example"))
    assert reply.source_id == "aggregator"
    assert list(reply.privacy_mechanisms) == ["aggregator", "aggregator.example"]


def test_a_caller_without_a_certificate_gets_nothing(server: Server, authority: Authority) -> None:
    assert refusal(server, None) == "unavailable"
    anonymous = grpc.ssl_channel_credentials(authority.ca.read_bytes())
    options = [("grpc.ssl_target_name_override", SOURCE)]
    with grpc.secure_channel(server.address, anonymous, options) as channel:
        stub = source_node_pb2_grpc.SourceNodeStub(channel)
        with pytest.raises(grpc.RpcError) as caught:
            stub.Describe(source_node_pb2.DescribeRequest(), timeout=5)
    assert caught.value.code() is grpc.StatusCode.UNAVAILABLE


def test_a_server_that_is_not_the_expected_source_is_refused(server: Server, authority: Authority) -> None:
    assert refusal(server, authority.issue("aggregator"), "another_clinic") == "identity"


def test_a_server_of_another_authority_is_refused(
    server: Server, authority: Authority, stranger: Authority
) -> None:
    ours = authority.issue("aggregator")
    assert refusal(server, TlsFiles(ours.cert, ours.key, stranger.ca)) == "identity"


def test_a_caller_of_another_authority_is_refused(
    server: Server, authority: Authority, stranger: Authority
) -> None:
    theirs = stranger.issue("aggregator")
    assert refusal(server, TlsFiles(theirs.cert, theirs.key, authority.ca)) == "unavailable"


def test_an_expired_caller_is_refused(server: Server, authority: Authority) -> None:
    assert refusal(server, authority.issue("late", days=-1)) == "unavailable"


def test_a_good_server_name_passes(authority: Authority) -> None:
    check_server_name(authority.issue(SOURCE), SOURCE)
    check_server_name(authority.issue("node", "other"), "other")


def test_what_peers_would_refuse_shows_before_serving(authority: Authority, stranger: Authority) -> None:
    good = authority.issue(SOURCE)
    theirs = stranger.issue("theirs")
    with pytest.raises(ConfigError, match="peers would refuse it as 'other': Hostname mismatch"):
        check_server_name(good, "other")
    with pytest.raises(ConfigError, match="expired"):
        check_server_name(authority.issue("old", days=-1), "old")
    with pytest.raises(ConfigError, match="peers would refuse it as 'theirs'"):
        check_server_name(TlsFiles(theirs.cert, theirs.key, authority.ca), "theirs")
    with pytest.raises(ConfigError, match="do not fit"):
        check_server_name(TlsFiles(good.cert, theirs.key, good.ca), SOURCE)
    with pytest.raises(ConfigError, match="not a certificate authority"):
        check_server_name(TlsFiles(good.cert, good.key, good.key), SOURCE)
    with pytest.raises(ConfigError, match="cannot serve as ''"):
        check_server_name(good, "")


def test_a_missing_or_foreign_file_is_named(authority: Authority, tmp_path: Path) -> None:
    good = authority.issue(SOURCE)
    with pytest.raises(ConfigError, match=r"nowhere\.pem: no such TLS certificate file"):
        TlsFiles(tmp_path / "nowhere.pem", good.key, good.ca).server_credentials()
    text = tmp_path / "text.pem"
    text.write_text("hello")
    with pytest.raises(ConfigError, match=r"text\.pem: not a PEM file \(a TLS key"):
        TlsFiles(good.cert, text, good.ca).channel_credentials()
    with pytest.raises(ConfigError, match="TLS authority cannot be read: Is a directory"):
        TlsFiles(good.cert, good.key, tmp_path).server_credentials()


@pytest.mark.parametrize("times", [1, 1000])
def test_a_rotation_in_the_middle_of_a_read_never_mixes_two_pairs(
    server: Server, tmp_path: Path, authority: Authority, monkeypatch: pytest.MonkeyPatch, times: int
) -> None:
    tls, others = authority.issue("rotating"), [authority.issue(f"after{i}") for i in range(2)]
    check, rotated = core.tls._server_context, []

    def rotating(files: TlsFiles) -> ssl.SSLContext:
        context = check(files)
        if len(rotated) < times:
            rotated.append(others[len(rotated) % 2])
            tls.key.write_bytes(rotated[-1].key.read_bytes())
            tls.cert.write_bytes(rotated[-1].cert.read_bytes())
        return context

    monkeypatch.setattr(core.tls, "_server_context", rotating)
    if times == 1:
        assert ask(server, tls).source_id == "after0"
    else:
        with pytest.raises(ConfigError, match=r"changed at every one of \d+ reads"):
            tls.channel_credentials()


def test_the_flags_are_all_or_none() -> None:
    cert, key, ca = Path("c"), Path("k"), Path("a")
    assert tls_from_flags(cert, key, ca, insecure=False) == TlsFiles(cert, key, ca)
    assert tls_from_flags(None, None, None, insecure=True) is None
    with pytest.raises(ConfigError, match="exclude each other"):
        tls_from_flags(cert, None, None, insecure=True)
    with pytest.raises(ConfigError, match="--tls-key, --tls-ca missing"):
        tls_from_flags(cert, None, None, insecure=False)
    with pytest.raises(ConfigError, match="--tls-cert, --tls-key, --tls-ca missing"):
        tls_from_flags(None, None, None, insecure=False)


class TestRotation:
    """New files take effect for new connections, without a restart."""

    def shown(self, server: Server, tls: TlsFiles) -> int:
        """The serial number of the certificate that the server shows to a new connection."""
        context = ssl.create_default_context(cafile=str(tls.ca))
        context.check_hostname = False
        context.load_cert_chain(tls.cert, tls.key)
        context.set_alpn_protocols(["h2"])
        host, port = server.address.rsplit(":", 1)
        with (
            socket.create_connection((host, int(port)), timeout=30) as plain,
            context.wrap_socket(plain, server_hostname=SOURCE) as secure,
        ):
            found = secure.getpeercert(binary_form=True)
        return x509.load_der_x509_certificate(found or b"").serial_number

    def test_a_new_certificate_is_shown_and_a_broken_one_is_not(self, tmp_path: Path) -> None:
        authority = Authority(tmp_path)
        tls, caller = authority.issue(SOURCE), authority.issue("caller")
        service = Service(
            "securecollarag.v1.SourceNode",
            source_node_pb2_grpc.add_SourceNodeServicer_to_server,
            WhoAmI(),
        )
        running = make_server([service], "127.0.0.1:0", tls, name=SOURCE)
        running.start()
        try:
            with open_channel(running.address, caller, SOURCE) as kept:
                stub = source_node_pb2_grpc.SourceNodeStub(kept)
                assert stub.Describe(source_node_pb2.DescribeRequest(), timeout=30).source_id == "caller"
                first = self.shown(running, caller)
                authority.issue(SOURCE)
                second = self.shown(running, caller)
                assert second != first
                other = authority.issue("other")
                tls.cert.write_bytes(other.cert.read_bytes())  # does not fit the key
                assert self.shown(running, caller) == second
                tls.key.write_bytes(other.key.read_bytes())  # fits, but is for another name
                assert self.shown(running, caller) == second
                tls.cert.unlink()
                assert self.shown(running, caller) == second
                authority.issue(SOURCE)
                assert self.shown(running, caller) not in (first, second)
                assert stub.Describe(source_node_pb2.DescribeRequest(), timeout=30).source_id == "caller"
        finally:
            running.stop(1.0)

    def test_a_new_authority_shuts_out_who_the_old_one_signed(self, tmp_path: Path) -> None:
        old, new = Authority(tmp_path / "old"), Authority(tmp_path / "new", "new")
        tls = old.issue(SOURCE)
        service = Service(
            "securecollarag.v1.SourceNode",
            source_node_pb2_grpc.add_SourceNodeServicer_to_server,
            WhoAmI(),
        )
        running = make_server([service], "127.0.0.1:0", tls, name=SOURCE)
        running.start()
        try:
            assert ask(running, old.issue("caller")).source_id == "caller"
            fresh = new.issue(SOURCE)
            for ours, theirs in ((tls.key, fresh.key), (tls.cert, fresh.cert), (tls.ca, fresh.ca)):
                ours.write_bytes(theirs.read_bytes())
            caller = new.issue("caller")
            assert ask(running, caller).source_id == "caller"
            stranger = Authority(tmp_path / "stranger").issue("caller")
            assert refusal(running, TlsFiles(stranger.cert, stranger.key, new.ca)) == "unavailable"
        finally:
            running.stop(1.0)


def test_a_server_may_ask_for_no_certificate(authority: Authority) -> None:
    service = Service(
        "securecollarag.v1.SourceNode", source_node_pb2_grpc.add_SourceNodeServicer_to_server, WhoAmI()
    )
    running = make_server([service], "127.0.0.1:0", authority.issue(SOURCE), client_certificates=False)
    running.start()
    try:
        caller = authority.issue("caller")
        credentials = caller.channel_credentials(show=False)
        options = [("grpc.ssl_target_name_override", SOURCE)]
        with grpc.secure_channel(running.address, credentials, options) as channel:
            stub = source_node_pb2_grpc.SourceNodeStub(channel)
            assert stub.Describe(source_node_pb2.DescribeRequest(), timeout=30).source_id == "nobody"
    finally:
        running.stop(1.0)
