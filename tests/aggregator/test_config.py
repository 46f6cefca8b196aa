from __future__ import annotations

from pathlib import Path

import pytest

from aggregator.config import AggregatorConfig, StageSpec
from core.config import load, parse
from core.errors import ConfigError
from core.stage import Hook


def test_defaults() -> None:
    config = AggregatorConfig()
    assert [spec.name for spec in config.defenses] == ["scr"]
    assert (config.reader, config.reader_k, config.top_k) == ("extractive", 5, 5)
    assert config.all_filtered == "refuse"
    assert config.reliability_start == 0.5


def test_a_file_and_flags(tmp_path: Path) -> None:
    path = tmp_path / "aggregator.yaml"
    path.write_text(
        "sources:\n  a: 127.0.0.1:5001\n"
        "defenses:\n  - scr\n  - {name: tris, required: true, hook: pre_generation, options: {k: 2}}\n"
        "top_k: 3\n"
    )
    config = load(AggregatorConfig, path, {"top_k": 7, "reader": None})
    assert config.sources == {"a": "127.0.0.1:5001"}
    assert config.top_k == 7
    assert config.reader == "extractive"
    assert config.defenses == (
        StageSpec(name="scr"),
        StageSpec(name="tris", required=True, hook=Hook.PRE_GENERATION, options={"k": 2}),
    )


@pytest.mark.parametrize("none", ["none", ["none"], []])
def test_none_is_an_empty_pipeline(none: object) -> None:
    assert parse(AggregatorConfig, {"defenses": none}, "here").defenses == ()


@pytest.mark.parametrize(
    ("key", "value", "message"),
    [
        ("surces", {}, "unknown key 'surces'"),
        ("sources", {"a": "nowhere"}, "HOST:PORT"),
        ("sources", {"a": "host:0"}, "HOST:PORT"),
        ("sources", {"a": "host:99999"}, "HOST:PORT"),
        ("sources", {"": "host:1"}, "1 to 256 bytes"),
        ("all_filtered", "shrug", "refuse"),
        ("momentum", 1.0, "less than 1"),
        ("reliability_start", float("nan"), "finite"),
        ("deadline_s", 0, "greater than 0"),
        ("top_k", 0, "greater than or equal to 1"),
        ("defenses", [{"name": "scr", "optoins": {}}], "unknown key"),
        ("defenses", 3, "defenses"),
    ],
)
def test_a_wrong_key_is_one_clear_line(key: str, value: object, message: str) -> None:
    with pytest.raises(ConfigError, match=message) as raised:
        parse(AggregatorConfig, {key: value}, "here")
    assert "\n" not in str(raised.value)
