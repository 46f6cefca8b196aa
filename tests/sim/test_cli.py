"""Bad input of `scr sim run`: one clear line on stderr, exit status 2, before anything is started."""

from __future__ import annotations

import json
from inspect import signature

import pytest
import yaml

from core.cli import main
from sim.cli import run
from sim.config import RunConfig
from tests.sim.tiny_world import write_world


@pytest.fixture
def world(tmp_path):
    return write_world(tmp_path / "world", n=20)


@pytest.fixture
def fails(capsys, world):
    """Runs with flags that must fail; returns the one line that says why."""

    def check(*flags, dataset=world):
        status = main(
            ["sim", "run", "--dataset", str(dataset), "--embedder", "hashing", "--quiet", *map(str, flags)]
        )
        err = capsys.readouterr().err
        assert status == 2, err
        assert "Traceback" not in err
        lines = [line for line in err.splitlines() if not line.startswith("warning: ")]
        assert len(lines) == 1, err
        assert lines[0].startswith("scr: ")
        return lines[0]

    return check


def rewrite(path, change):
    records = [json.loads(line) for line in path.read_text().splitlines()]
    change(records)
    path.write_text("".join(json.dumps(record) + "\n" for record in records))


def test_every_setting_has_a_flag():
    flags = set(signature(run).parameters)
    yaml_only = {"stages", "all_filtered", "llm_options"}
    assert set(RunConfig.model_fields) - yaml_only == flags - {"config", "fresh", "quiet"}


def test_a_missing_folder_or_file(fails, world, tmp_path):
    assert "no such folder" in fails(dataset=tmp_path / "gone")
    (world / "corpus.jsonl").unlink()
    assert "corpus.jsonl" in fails()


def test_files_given_beside_the_folder_must_exist(fails, tmp_path):
    for flag in ("--queries-file", "--qrels", "--poison"):
        assert "gone" in fails(flag, tmp_path / "gone")


def test_a_malformed_line_is_named(fails, world):
    path = world / "corpus.jsonl"
    lines = path.read_text().splitlines()
    path.write_text("\n".join([*lines[:2], "{not json", *lines[3:]]) + "\n")
    assert f"{path}:3: " in fails()


def test_an_empty_corpus(fails, world):
    (world / "corpus.jsonl").write_text("")
    assert "the corpus is empty" in fails()


def test_a_query_without_answers(fails, world):
    rewrite(world / "queries.jsonl", lambda records: records[4].pop("answers"))
    assert "queries.jsonl:5: " in fails()
    assert "answers" in fails()


def test_unknown_names_are_listed(fails):
    assert "unknown attack 'poisonrag' (did you mean 'poisonedrag'?)" in fails("--attack", "poisonrag")
    assert "unknown defense 'scrr' (did you mean 'scr'?)" in fails("--defense", "scrr")
    assert "unknown reader 'extractiv'" in fails("--reader", "extractiv", "--defense", "none")
    assert "unknown retriever 'bm2'" in fails("--retriever", "bm2", "--defense", "none")
    assert "unknown behavior 'slepeer'" in fails("--behavior", "slepeer", "--defense", "none")
    assert "unknown embedder 'hashin'" in fails("--embedder", "hashin", "--defense", "none")


def test_wrong_attack_options(fails):
    attack = ("--defense", "none", "--attack", "poisonedrag", "--attack-option")
    assert "unknown key 'prefx'" in fails(*attack, "prefx=true")
    assert "must be KEY=VALUE" in fails(*attack, "prefix")
    assert "per_source" in fails(*attack, "per_source=many")
    assert "has no option 'prefix'" in fails(
        "--defense", "none", "--attack", "saa", "--attack-option", "prefix=false"
    )


def test_an_unknown_key_of_the_config_file(fails, tmp_path):
    path = tmp_path / "run.yaml"
    path.write_text(yaml.safe_dump({"seeds": 3}))
    assert "unknown key 'seeds'" in fails("--config", path)


def test_values_out_of_range(fails):
    assert "malicious" in fails("--malicious", "1.2")
    assert "not even one attacker" in fails("--attack", "saa", "--malicious", "0.05")
    assert "sources" in fails("--sources", "0")
    assert "top_k" in fails("--top-k", "51")
    assert "'none' stands alone" in fails("--defense", "none", "--defense", "scr")


def test_more_sources_than_documents(fails):
    assert "21 sources but 20 documents" in fails("--sources", "21", "--defense", "none")


def test_sizes_of_the_wrong_data_set(fails, world):
    assert "synthetic" in fails("--documents", "5")
    assert "synthetic" in fails("--queries-file", world / "queries.jsonl", dataset="synthetic")


def test_out_that_is_a_file(fails, tmp_path):
    path = tmp_path / "file"
    path.write_text("")
    assert "is a file" in fails("--out", path, "--defense", "none")


def test_half_malicious_is_allowed_with_a_warning(capsys, world, tmp_path):
    path = tmp_path / "file"
    path.write_text("")
    flags = [
        "--dataset",
        world,
        "--attack",
        "saa",
        "--malicious",
        "0.5",
        "--defense",
        "none",
        "--out",
        path,
        "--quiet",
    ]
    main(["sim", "run", *map(str, flags)])
    assert (
        "warning: 5 of 10 sources are malicious: with half or more the guarantee ends"
        in capsys.readouterr().err
    )


def test_a_flag_that_does_not_exist(capsys):
    assert main(["sim", "run", "--sorces", "3"]) == 2
    assert "--sorces" in capsys.readouterr().err


def test_help_has_examples(capsys):
    assert main(["sim", "run", "--help"]) == 0
    shown = capsys.readouterr().out
    assert "Examples:" in shown
    for flag in ("--queries-file", "--attack-option", "--rounds-warmup", "--ray-address", "--no-compare"):
        assert flag in shown


def test_stage_settings_are_tried_before_anything_is_started(fails, tmp_path):
    path = tmp_path / "run.yaml"
    path.write_text(yaml.safe_dump({"stages": {"scr": {"options": {"treshold": 0.5}}}}))
    assert "unknown key 'treshold'" in fails("--config", path)
    assert "gone.pt: no such checkpoint" in fails("--checkpoint", "gone.pt")
