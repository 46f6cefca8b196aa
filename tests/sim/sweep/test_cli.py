from __future__ import annotations

import pytest
from typer.testing import CliRunner

from core.errors import ConfigError
from sim.cli import app
from sim.sweep.cli import _pairs, _resolve
from tests.sim.tiny_world import write_world


def test_help_shows_examples():
    text = CliRunner().invoke(app, ["sim", "sweep", "--help"][1:]).output
    assert "--preset rivals" in text


def test_flags_override_yaml_and_yaml_a_preset(tmp_path):
    path = tmp_path / "sweep.yaml"
    path.write_text("seed: [5]\nbase: {queries: 9, sources: 7}\n", encoding="utf-8")
    config = _resolve(path, "rivals", {"top_k": ["2", "3"]}, {"queries": 4, "reader": None})
    assert config.seed == (5,)
    assert config.top_k == (2, 3)
    assert len(config.defense) > 10
    assert (config.base["queries"], config.base["sources"], config.base["llm"]) == (4, 7, "smollm2")
    assert "reader" not in config.base


def test_a_flag_names_an_entry_of_the_preset():
    config = _resolve(None, "rivals", {"attack": ["hotflip", "saa"], "defense": ["none", "perplexity"]}, {})
    assert [(v.name, v.queries) for v in config.attack] == [("hotflip", 10), ("saa", None)]
    assert config.attack[0].settings["attack_option"] == {"iterations": 4}
    assert [(v.name, v.queries, v.seeds) for v in config.defense] == [
        ("none", None, None), ("perplexity", 10, None),
    ]  # fmt: skip


def test_settings_are_read_as_yaml():
    assert _pairs(["rounds-warmup=3", "llm=null"]) == {"rounds_warmup": 3, "llm": None}
    with pytest.raises(ConfigError, match="KEY=VALUE"):
        _pairs(["x"])


def test_a_sweep_from_flags_and_its_table(tmp_path):
    world = write_world(tmp_path / "world", n=30)
    common = ["--dataset", str(world), "--queries", "2", "--set", "embedder=hashing", "--set", "sources=4"]
    run = CliRunner().invoke(
        app,
        [
            "sweep",
            "--attack",
            "saa",
            "--defense",
            "none",
            *common,
            "--workers",
            "1",
            "--out",
            str(tmp_path / "o"),
        ],
    )
    assert run.exit_code == 0, run.output
    assert "1 cells in" in run.output
    table = CliRunner().invoke(app, ["sweep", "table", str(tmp_path / "o")]).output
    assert table.splitlines()[0].startswith("attack,defense,malicious")
    shown = CliRunner().invoke(app, ["sweep", "table", str(tmp_path / "o"), "--markdown"]).output
    assert "| saa | none |" in shown


def test_out_must_be_named():
    found = CliRunner().invoke(app, ["sweep", "--attack", "saa"])
    assert isinstance(found.exception, ConfigError)
