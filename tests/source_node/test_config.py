"""Strict settings of the two commands."""

from __future__ import annotations

from pathlib import Path

import pytest

from core.config import load
from core.errors import ConfigError
from source_node.config import IngestConfig, ServeConfig


def test_defaults_and_nested_keys(tmp_path: Path) -> None:
    path = tmp_path / "node.yaml"
    path.write_text(
        "store: store\nsource_id: clinic\nlisten: 127.0.0.1:0\nretriever: bm25\n"
        "retriever_options: {k1: 1.5}\nprivacy: {required: true, epsilon: 2}\n"
    )
    config = load(ServeConfig, path, {"insecure": True, "retriever": None})
    assert (config.store, config.retriever, config.retriever_options) == (Path("store"), "bm25", {"k1": 1.5})
    assert config.privacy is not None
    assert (config.privacy.required, config.privacy.epsilon) == (True, 2)
    assert (config.max_top_k, config.insecure) == (50, True)


@pytest.mark.parametrize(
    ("values", "problem"),
    [
        ({"store": "s", "listen": "a:1"}, "command line: 'source_id' is missing"),
        ({"store": "s", "source_id": "x", "listen": "a:1", "colour": 1}, "unknown key 'colour'"),
        ({"store": "s", "source_id": "x", "listen": "a:1", "max_top_k": 101}, "max_top_k: .*100"),
        (
            {"store": "s", "source_id": "x", "listen": "a:1", "privacy": {"budge": 1}},
            r"unknown key 'privacy\.budge'",
        ),
    ],
)
def test_wrong_settings_are_named(values: dict[str, object], problem: str) -> None:
    with pytest.raises(ConfigError, match=problem):
        load(ServeConfig, None, values)


def test_ingest_needs_its_input() -> None:
    with pytest.raises(ConfigError, match="'input' is missing"):
        load(IngestConfig, None, {"store": "s"})
    with pytest.raises(ConfigError, match="batch"):
        load(IngestConfig, None, {"input": "i", "store": "s", "batch": 0})
