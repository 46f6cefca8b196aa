"""`scr aggregator sources` against a served aggregator, and what a restart keeps."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from aggregator import Aggregator
from aggregator.servicer import serve
from aggregator.sources_cli import source_addresses
from core.cli import main
from core.errors import ConfigError
from tests.aggregator.parts import answering, raw_source

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
