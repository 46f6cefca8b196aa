"""`scr aggregator sources` against a served aggregator, and what a restart keeps."""

from __future__ import annotations

import json
import stat
from pathlib import Path

import pytest

from aggregator import Aggregator
from aggregator.assembly import assemble
from aggregator.config import AggregatorConfig
from aggregator.servicer import serve
from aggregator.source_tokens import read_source_tokens
from aggregator.sources_cli import source_addresses
from aggregator.tunnel import DIALLED, TunnelHub
from core.cli import main
from core.config import parse
from core.errors import ConfigError
from tests.aggregator.parts import answering, raw_source
from tests.certificates import Authority

SOURCES = ["aggregator", "sources"]


def test_a_restart_keeps_what_the_operator_did(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    settings = {"embedder": "hashing", "defenses": [], "state": tmp_path}
    with raw_source(answering("a", ["one"])) as a, raw_source(answering("b", ["two"])) as b:
        made = Aggregator.connect({"a": a, "gone": "127.0.0.1:1"}, **settings)
        server = serve(made, "127.0.0.1:0", insecure=True)
        server.start()
        at = ["--server", server.address, "--insecure"]
        assert main([*SOURCES, "add", f"b={b}", *at]) == 0
        assert main([*SOURCES, "drain", "a", *at]) == 0
        assert main([*SOURCES, "remove", "gone", *at]) == 0
        assert main([*SOURCES, "remove", "gone", *at]) == 2
        captured = capsys.readouterr()
        assert captured.out.splitlines() == [
            f"source 'b' at {b} is asked from now on",
            "source 'a' is asked no more",
            "source 'gone' is removed; its reliability is kept",
        ]
        assert "no source 'gone' here" in captured.err
        assert main([*SOURCES, "list", *at]) == 0
        assert capsys.readouterr().out.splitlines() == [
            f"a {a} drained circuit closed reliability 0.500 7 documents",
            f"b {b} active circuit closed reliability 0.500 7 documents",
        ]
        assert main([*SOURCES, "list", "--json", *at]) == 0
        first = json.loads(capsys.readouterr().out.splitlines()[0])
        assert (first["source"], first["state"], first["last_failure"]) == ("a", "drained", None)
        server.stop(1.0)
        made.close()
        again = Aggregator.connect({"a": a, "gone": "127.0.0.1:1"}, **settings)
        assert again.fan_out is not None
        assert again.fan_out.source_ids == ("b",)
        assert again.ask("which").text == "two"
        again.close()


def test_no_server_is_one_line(capsys: pytest.CaptureFixture[str]) -> None:
    assert main([*SOURCES, "list", "--server", "127.0.0.1:1", "--insecure"]) == 2
    error = capsys.readouterr().err
    assert error.startswith("scr: aggregator 127.0.0.1:1: unavailable")
    assert error.count("\n") == 1
    assert main([*SOURCES, "list", "--server", "127.0.0.1:1"]) == 2
    assert "--tls-cert" in capsys.readouterr().err


def test_source_addresses() -> None:
    assert source_addresses(["a=h:1", "b=c=h:2"]) == {"a": "h:1", "b=c": "h:2"}
    with pytest.raises(ConfigError, match="ID=HOST:PORT"):
        source_addresses(["a"])


def test_a_token_comes_from_a_file_or_the_environment_and_only_over_tls(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    authority = Authority(tmp_path / "tls")
    files = authority.issue("aggregator", "localhost", loopback=True)
    settings = {"embedder": "hashing", "defenses": [], "state": tmp_path / "state"}
    made = Aggregator.connect({"a": "127.0.0.1:1"}, tls=files, **settings)
    server = serve(made, "127.0.0.1:0", files, operators=["ops"])
    server.start()
    ops = authority.issue("ops")
    flags = ["--tls-cert", str(ops.cert), "--tls-key", str(ops.key), "--tls-ca", str(ops.ca)]
    at = ["--server", server.address, *flags]
    secret, kept = tmp_path / "clinic.token", tmp_path / "state" / "source-tokens.yaml"
    secret.write_text("clinic-secret\n")
    monkeypatch.setenv("BANK_TOKEN", "bank-secret")
    try:
        named = ["--token-name", "agg"]
        add = [*SOURCES, "add", "clinic=127.0.0.1:2", *named]
        assert main([*add, "--token-file", str(secret), *at]) == 0
        assert main([*SOURCES, "add", "bank=127.0.0.1:3", *named, "--token-env", "BANK_TOKEN", *at]) == 0
        assert stat.S_IMODE(kept.stat().st_mode) == 0o600
        assert read_source_tokens(kept) == {
            "clinic": ("agg", "clinic-secret"),
            "bank": ("agg", "bank-secret"),
        }
        for wrong, told in (
            (
                ["--token-file", str(secret), "--token-env", "BANK_TOKEN"],
                "either --token-file or --token-env",
            ),
            ([], "either --token-file or --token-env"),
            (["--token-file", str(tmp_path / "none")], "cannot be read"),
            (["--token-env", "NO_SUCH_TOKEN"], "no such environment variable"),
        ):
            assert main([*add, *wrong, *at]) == 2
            assert told in capsys.readouterr().err
        assert main([*add, "--token-file", str(secret), "--server", server.address, "--insecure"]) == 2
        assert "over TLS only" in capsys.readouterr().err
    finally:
        server.stop(1.0)
        made.close()
    again = Aggregator.connect({"a": "127.0.0.1:1"}, tls=files, **settings)
    assert again.fan_out is not None
    assert again.fan_out.source_ids == ("a", "bank", "clinic")
    again.close()


def test_an_aggregator_starts_empty_and_takes_in_a_source_that_dials(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    settings = parse(AggregatorConfig, {"embedder": "hashing", "defenses": [], "state": tmp_path}, "here")
    made = assemble(settings, None, TunnelHub())
    assert made.ask("which").refused
    server = serve(made, "127.0.0.1:0", insecure=True)
    server.start()
    try:
        assert main([*SOURCES, "add", "clinic", "--dialled", "--server", server.address, "--insecure"]) == 0
        assert "is asked once it dials in" in capsys.readouterr().out
    finally:
        server.stop(1.0)
        made.close()
    hub = TunnelHub()
    again = assemble(settings, None, hub)
    assert again.fan_out is not None
    (standing,) = again.fan_out.standing()
    assert (standing.source_id, standing.address) == ("clinic", DIALLED)
    again.close()
    with pytest.raises(ConfigError, match="--accept-dialled"):
        assemble(settings, None, None)
