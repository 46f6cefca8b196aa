from __future__ import annotations

import pytest
import yaml

from core.errors import ConfigError
from sim.config import RunConfig, resolve


def test_defaults_are_those_of_the_design():
    config = RunConfig()
    assert (config.dataset, config.attack, config.defense) == ("synthetic", "none", ("scr",))
    assert (config.sources, config.malicious, config.dirichlet_alpha, config.replication) == (10, 0.4, 0.5, 1)
    assert (config.top_k, config.trials, config.reader, config.reader_k, config.seed) == (
        5,
        1,
        "extractive",
        5,
        0,
    )


def test_flags_override_yaml_and_options_merge(tmp_path):
    path = tmp_path / "run.yaml"
    path.write_text(
        "attack: poisonedrag\nseed: 7\ndefense: none\nattack_option: {prefix: false, per_source: 2}\n"
    )
    config = resolve(None, path, {"seed": 8, "attack_option": {"per_source": 1}, "queries": None})
    assert config.seed == 8
    assert config.defense == ("none",)
    assert config.attack_option.prefix is False
    assert config.attack_option.per_source == 1


def test_the_resolved_settings_are_a_config_file(tmp_path):
    config = resolve(
        None, None, {"attack": "ata", "attack_option": {"swap": True}, "replication": 3, "out": "x"}
    )
    path = tmp_path / "config.yaml"
    path.write_text(config.as_yaml())
    assert resolve(None, path, {}) == config
    assert yaml.safe_load(config.as_yaml())["attack_option"]["swap"] is True


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("sorces: 3", r"run\.yaml: unknown key 'sorces'; known keys: .*sources"),
        ("attack_option: {prefx: true}", r"run\.yaml: unknown key 'attack_option\.prefx'"),
        ("sources: 0", r"run\.yaml: sources: .*greater than or equal to 1"),
        ("malicious: 1.5", r"malicious: .*less than or equal to 1"),
        ("malicious: .nan", r"malicious"),
        ("dirichlet_alpha: 0", r"dirichlet_alpha: .*greater than 0"),
        ("replication: 11", r"replication 11 needs at least as many sources"),
        ("defense: [none, scr]", r"'none' stands alone"),
        ("defense: [scr, ss-rag]", r"'ss-rag' stands alone"),
        ("defense: [scr, scr]", r"a defense is named twice"),
        ("defense: []", r"name at least one defense"),
        ("stages: {tris: {}}", r"stages sets up 'tris', which is not among the defenses"),
        ("stages: {scr: {optoins: {}}}", r"unknown key 'stages\.scr\.optoins'"),
        ("{dataset: data, documents: 5}", r"documents sizes the synthetic world"),
        ("{attack: saa, malicious: 0.05}", r"malicious 0\.05 of 10 sources is not even one attacker"),
        ("{defense: none, checkpoint: x.pt}", r"checkpoint is read by the defense 'scr'"),
        ("sources: [", r"run\.yaml:1"),
        ("- a", r"run\.yaml: must be a mapping"),
    ],
)
def test_wrong_settings_are_one_line_that_names_them(tmp_path, text, message):
    path = tmp_path / "run.yaml"
    path.write_text(text)
    with pytest.raises(ConfigError, match=message) as caught:
        resolve(None, path, {})
    assert "\n" not in str(caught.value)


def test_a_missing_config_file(tmp_path):
    with pytest.raises(ConfigError, match="no such config file"):
        resolve(None, tmp_path / "gone.yaml", {})


def test_identity_leaves_out_where_a_run_happens(tmp_path):
    here = RunConfig(out=tmp_path, cache_dir=tmp_path, object_store_mb=400, ray_address="auto")
    assert here.identity() == RunConfig().identity()
    assert RunConfig(seed=1).identity() != RunConfig().identity()


def test_baselines_have_no_stages():
    assert RunConfig(defense="none").stage_names == ()
    assert RunConfig(defense=["ss-rag"]).stage_names == ()
    assert RunConfig(defense=["scr", "tris"]).stage_names == ("scr", "tris")
