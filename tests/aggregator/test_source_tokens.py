"""Tokens of an aggregator, and the sources that dial in its configuration."""

from __future__ import annotations

from pathlib import Path

import pytest

from aggregator.assembly import assemble
from aggregator.config import AggregatorConfig
from aggregator.source_tokens import read_source_tokens
from aggregator.tunnel import DIALLED, TunnelHub
from core.config import parse
from core.errors import ConfigError
from core.tokens import Token

LOCAL = {"embedder": "hashing", "defenses": []}


def test_tokens_by_source(tmp_path: Path) -> None:
    path = tmp_path / "tokens.yaml"
    path.write_text("tokens: {clinic: {name: aggregator, secret: abc}}")
    assert read_source_tokens(path) == {"clinic": Token("aggregator", "abc")}
    for wrong in ("tokens: {clinic: abc}", "tokens: {clinic: {name: a}}", "token: {}"):
        path.write_text(wrong)
        with pytest.raises(ConfigError, match=r"tokens\.yaml"):
            read_source_tokens(path)


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
        ({"dialled": ["clinic"]}, None, "need both"),
        ({"sources": {"bank": "127.0.0.1:1"}}, TunnelHub(), "need both"),
        ({"dialled": ["bank"], "sources": {"bank": "127.0.0.1:1"}}, TunnelHub(), "has an address"),
    ],
)
def test_half_a_setting_is_a_mistake(settings: dict, hub: TunnelHub | None, problem: str) -> None:
    with pytest.raises(ConfigError, match=problem):
        assemble(parse(AggregatorConfig, {**LOCAL, **settings}, "here"), None, hub)
