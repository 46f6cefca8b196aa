"""Tokens of an aggregator, and the sources that dial in its configuration."""

from __future__ import annotations

import stat
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from aggregator.assembly import assemble
from aggregator.config import AggregatorConfig
from aggregator.source_tokens import TokenShelf, read_source_tokens
from aggregator.tunnel import DIALLED, TunnelHub
from core.config import parse
from core.errors import ConfigError, StoreError
from core.tokens import Token
from source_node.access.tokens import read_tokens

LOCAL = {"embedder": "hashing", "defenses": []}


def test_tokens_by_source(tmp_path: Path) -> None:
    path = tmp_path / "tokens.yaml"
    path.write_text("tokens: {clinic: {name: aggregator, secret: abc}}")
    assert read_source_tokens(path) == {"clinic": Token("aggregator", "abc")}
    for wrong in ("tokens: {clinic: abc}", "tokens: {clinic: {name: a}}", "token: {}"):
        path.write_text(wrong)
        with pytest.raises(ConfigError, match=r"tokens\.yaml"):
            read_source_tokens(path)
    path.write_text("tokens: {clinic: {name: aggregator, secret: two words}}")
    with pytest.raises(ConfigError, match="without spaces") as caught:
        read_source_tokens(path)
    assert "two words" not in str(caught.value)


@pytest.mark.parametrize("read", [read_source_tokens, read_tokens])
def test_a_broken_file_of_tokens_is_not_quoted(read: Callable[[Path], object], tmp_path: Path) -> None:
    path = tmp_path / "tokens.yaml"
    for text in (
        "tokens: {clinic: hush}",
        "tokens: hush",
        "hush",
        "tokens: {clinic: {name: a, secret: [hush]}}",
        "tokens: {clinic: {name: a, secert: hush}}",
        "tokens: {clinic: {name: a, secret: 4711}}",
    ):
        path.write_text(text)
        with pytest.raises(ConfigError, match=r"tokens\.yaml") as caught:
            read(path)
        assert "hush" not in str(caught.value)
        assert "4711" not in str(caught.value)


def test_a_token_does_not_show_its_secret() -> None:
    token = Token("aggregator", "hush")
    assert "hush" not in f"{token} {token!r} {[token]}"
    assert token == ("aggregator", "hush")


class TestShelf:
    def test_what_an_operator_brought_outlives_a_restart_and_is_private(self, tmp_path: Path) -> None:
        path = tmp_path / "state" / "source-tokens.yaml"
        configured = {"clinic": Token("a", "configured"), "bank": Token("a", "bank's")}
        shelf = TokenShelf(path, configured)
        assert shelf.get("clinic") == Token("a", "configured")
        assert not path.exists()
        shelf.put("clinic", Token("a", "brought"))
        shelf.put("archive", Token("b", "third"))
        assert stat.S_IMODE(path.stat().st_mode) == 0o600
        again = TokenShelf(path, configured)
        assert again.get("clinic") == Token("a", "brought")
        assert again.get("bank") == Token("a", "bank's")
        again.drop("clinic")
        again.drop("nobody")
        assert again.get("clinic") == Token("a", "configured")
        assert TokenShelf(path).get("clinic") is None
        assert TokenShelf(path).get("archive") == Token("b", "third")

    def test_threads_lose_no_token(self, tmp_path: Path) -> None:
        shelf = TokenShelf(tmp_path / "tokens.yaml")
        with ThreadPoolExecutor(4) as pool:
            list(pool.map(lambda i: shelf.put(f"s{i}", Token("a", f"secret{i}")), range(24)))
        kept = TokenShelf(tmp_path / "tokens.yaml")
        assert all(kept.get(f"s{i}") == Token("a", f"secret{i}") for i in range(24))

    def test_a_disk_that_takes_nothing_changes_nothing(self, tmp_path: Path) -> None:
        (tmp_path / "file").write_text("no folder")
        shelf = TokenShelf(tmp_path / "file" / "tokens.yaml")
        with pytest.raises(StoreError, match="cannot be written"):
            shelf.put("clinic", Token("a", "secret"))
        assert shelf.get("clinic") is None

    def test_a_file_that_others_may_read_is_told(
        self, tmp_path: Path, caplog: pytest.LogCaptureFixture
    ) -> None:
        path = tmp_path / "tokens.yaml"
        TokenShelf(path).put("clinic", Token("a", "secret"))
        path.chmod(0o644)
        TokenShelf(path)
        assert "chmod 600" in caplog.text
        assert "secret\n" not in caplog.text.replace("secrets", "")


def test_a_token_needs_tls(tmp_path: Path) -> None:
    path = tmp_path / "tokens.yaml"
    path.write_text("tokens: {clinic: {name: aggregator, secret: abc}}")
    config = parse(
        AggregatorConfig, {**LOCAL, "sources": {"clinic": "127.0.0.1:1"}, "source_tokens": path}, "here"
    )
    with pytest.raises(ConfigError, match="over TLS only"):
        assemble(config)


def test_sources_that_dial_stand_beside_the_others(tmp_path: Path) -> None:
    settings = {**LOCAL, "sources": {"bank": "127.0.0.1:1"}, "dialled": ["clinic"], "state": tmp_path}
    hub = TunnelHub()
    aggregator = assemble(parse(AggregatorConfig, settings, "here"), None, hub)
    assert aggregator.fan_out is not None
    assert {client.source_id: client.address for client in aggregator.fan_out.clients} == {
        "bank": "127.0.0.1:1",
        "clinic": DIALLED,
    }
    aggregator.close()


@pytest.mark.parametrize(
    ("settings", "hub", "problem"),
    [
        ({"dialled": ["clinic"]}, None, "--accept-dialled HOST:PORT is missing"),
        ({"dialled": ["bank"], "sources": {"bank": "127.0.0.1:1"}}, TunnelHub(), "has an address"),
    ],
)
def test_half_a_setting_is_a_mistake(settings: dict, hub: TunnelHub | None, problem: str) -> None:
    with pytest.raises(ConfigError, match=problem):
        assemble(parse(AggregatorConfig, {**LOCAL, **settings}, "here"), None, hub)
