from __future__ import annotations

import csv
import json
import subprocess
import sys

import pytest

from core.config import parse
from core.errors import ConfigError, ScrError, StoreError
from sim.config import RunConfig
from sim.progress import Quiet
from sim.sweep.cell import read_cell
from sim.sweep.config import SweepConfig
from sim.sweep.markdown import markdown, matrix, pool
from sim.sweep.runner import plan, read_sweep, run_sweep
from sim.sweep.table import as_parquet, tidy
from sim.sweep.work import Group
from tests.sim.tiny_world import write_world

BASE = {"queries": 4, "sources": 5, "embedder": "hashing"}


@pytest.fixture(scope="module")
def world(tmp_path_factory):
    return str(write_world(tmp_path_factory.mktemp("world"), n=40))


def config(world, **values):
    given = {
        "attack": ["none", "poisonedrag"],
        "defense": ["none", "tris"],
        "workers": 1,
        "timed": 1,
        **values,
    }
    return parse(SweepConfig, {**given, "base": {"dataset": world, **BASE}}, "test")


@pytest.fixture(scope="module")
def swept(world, tmp_path_factory):
    out = tmp_path_factory.mktemp("sweep")
    return out, run_sweep(config(world, cache_dir=str(tmp_path_factory.mktemp("cache"))), out, Quiet())


def test_a_cell_holds_metrics_cost_and_outcomes(swept):
    out, cells = swept
    assert [(c["place"]["attack"], c["place"]["defense"]) for c in cells] == [
        ("none", "none"), ("none", "tris"), ("poisonedrag", "none"), ("poisonedrag", "tris"),
    ]  # fmt: skip
    attacked = cells[2]
    assert attacked["metrics"]["asr"]["n"] == len(attacked["rounds"]) == 4
    assert attacked["cost"]["cpu_ms"]["p50"] > 0
    assert attacked["cost"]["llm_calls"] == 0
    assert cells[0]["metrics"]["asr"]["value"] is None
    assert all(r["attack_success"] is None for r in cells[0]["rounds"])
    assert read_sweep(out) == cells


def test_the_table_has_a_row_a_cell_in_both_forms(swept):
    import pyarrow.parquet as parquet

    out, cells = swept
    rows = list(csv.DictReader((out / "table.csv").open(encoding="utf-8")))
    assert len(rows) == len(cells)
    assert rows[2]["attack"] == "poisonedrag"
    assert float(rows[2]["asr"]) == pytest.approx(cells[2]["metrics"]["asr"]["value"])
    assert rows[0]["asr"] == ""
    stored = parquet.read_table(out / "table.parquet").to_pylist()
    assert [row["defense"] for row in stored] == [row["defense"] for row in rows]
    assert stored == [tidy(cell) for cell in cells]
    assert as_parquet([tidy(cells[0])])[:4] == b"PAR1"


def test_finished_cells_are_not_worked_on_again_and_others_are_added(world, swept, tmp_path):
    out, cells = swept
    stamps = {path: path.stat().st_mtime_ns for path in (out / "cells").iterdir()}
    path = sorted(stamps)[0]
    path.unlink()
    again = run_sweep(config(world, cache_dir=str(tmp_path)), out, Quiet())
    assert [c["rounds"] for c in again] == [c["rounds"] for c in cells]
    assert [p for p in stamps if p.stat().st_mtime_ns != stamps[p]] == [path]


def test_a_broken_cell_is_named(tmp_path):
    path = tmp_path / "x.json"
    path.write_text("{", encoding="utf-8")
    with pytest.raises(StoreError, match="delete it"):
        read_cell(path)


def test_cells_of_a_group_share_all_but_the_defense(world):
    cells = plan(config(world, seed=[0, 1]), Quiet())
    assert len({cell.key for cell in cells}) == len(cells) == 8
    assert len({cell.group for cell in cells}) == 4


def test_two_names_of_one_run_are_an_error(world):
    twice = [{"name": name, "settings": {"defense": ["none"]}} for name in ("a", "b")]
    with pytest.raises(ConfigError, match="the same run"):
        plan(config(world, defense=twice), Quiet())


def test_a_model_that_cannot_do_what_it_must_is_told_before_anything_starts(world, monkeypatch):
    monkeypatch.setenv("OPENAI_API_KEY", "none")
    for defense in ("none@choice:openai:m", "none@robustrag_decoding:openai:m"):
        with pytest.raises(ConfigError, match="needs a l"):
            plan(config(world, defense=[defense]), Quiet())
    given = {"attack": "none", "defense": ["perplexity"], "workers": 1}
    base = {"dataset": world, **BASE, "llm": "openai:m"}
    with pytest.raises(ConfigError, match="perplexity needs a language model with logprobs"):
        plan(parse(SweepConfig, {**given, "base": base}, "test"), Quiet())
    base["llm_options"] = {"no_such": 1}
    with pytest.raises(ConfigError, match="unknown option 'no_such'"):
        plan(parse(SweepConfig, {**given, "base": base}, "test"), Quiet())


def test_a_cell_that_fails_fails_alone(world, tmp_path, monkeypatch):
    run = Group.run

    def failing(self, cell):
        if cell.place["defense"] == "tris":
            raise ScrError("no answer")
        return run(self, cell)

    monkeypatch.setattr(Group, "run", failing)
    with pytest.raises(ScrError, match="2 of 4 cells failed, the first: none / tris: no answer"):
        run_sweep(config(world), tmp_path, Quiet())
    assert len(read_sweep(tmp_path)) == 2
    monkeypatch.undo()
    assert len(run_sweep(config(world), tmp_path, Quiet())) == 4


def test_other_values_on_an_axis_join_the_table_and_another_base_does_not(world, tmp_path):
    none = {"attack": ["none"], "defense": ["none"]}
    run_sweep(config(world, **none), tmp_path, Quiet())
    both = run_sweep(config(world, attack=["saa"], defense=["none"]), tmp_path, Quiet())
    assert [cell["place"]["attack"] for cell in both] == ["saa", "none"]
    assert read_sweep(tmp_path) == both
    other = run_sweep(config(world, **none, timed=2), tmp_path, Quiet())
    assert len(other) == 1
    (tmp_path / "sweep.json").write_text("{}", encoding="utf-8")
    with pytest.raises(StoreError, match="delete it"):
        read_sweep(tmp_path)


def test_an_empty_folder_holds_no_sweep(tmp_path):
    with pytest.raises(ConfigError, match="holds no sweep"):
        read_sweep(tmp_path)


def test_markdown_pools_seeds_and_says_what_beats_what(swept):
    _, cells = swept
    other = json.loads(json.dumps(cells))
    for cell in other:
        cell["place"]["seed"] = 1
    assert [len(p.rounds) for p in pool([*cells, *other])] == [8] * 4
    text = markdown([*cells, *other], ["none"])
    assert "4 questions x 2 seeds (`rounds`), 5 sources" in text
    assert text.count("| poisonedrag | tris |") == 1
    assert "better than `none`" in text
    assert "vs scr" not in text
    lines = matrix([*cells, *other[:3]]).splitlines()
    assert lines[0] == "| ASR / accuracy % | none | poisonedrag | rounds |"
    assert [line.split(" | ")[0] for line in lines[2:]] == ["| none", "| tris"]
    assert lines[2].count(" / ") == 2
    assert [line.split(" | ")[-1] for line in lines[2:]] == ["8 |", "4-8 |"]
    other[0]["place"]["top_k"] = 9
    with pytest.raises(ConfigError, match="one value each"):
        matrix(other)


def _cell(defense, seed, successes):
    rounds = [
        {
            "query_id": f"q{i}",
            "correct": not yes,
            "target_given": yes,
            "attack_success": yes,
            "refused": False,
        }
        | {"kept": 1, "benign": 1, "rejected": 0, "malicious": 1}
        for i, yes in enumerate(successes)
    ]
    place = {"attack": "saa", "defense": defense, "malicious": 0.4, "dirichlet_alpha": 0.5}
    cost = {"cpu_ms": {"p50": 1.0}, "llm_calls": 0.0}
    settings = {"dataset": "nq", "sources": 5, "reader": "extractive"}
    place |= {"replication": 1, "top_k": 5, "seed": seed}
    return {"place": place, "settings": settings, "cost": cost, "rounds": rounds}


def test_a_row_with_fewer_rounds_is_compared_on_what_both_have():
    # seed 0: 12 of 12 against 0 of 12, seed 1 (the reference alone): none; over all it would be half
    cells = [_cell("none", 0, [True] * 12), _cell("none", 1, [False] * 12), _cell("best", 0, [False] * 12)]
    cells.append(_cell("few", 0, [False] * 3))
    text = markdown(cells, ["none"])
    rows = {line.split(" | ")[1]: line.split(" | ") for line in text.splitlines() if line.startswith("| saa")}
    assert [rows[name][2] for name in ("none", "best", "few")] == ["24", "12", "3"]
    assert [rows[name][4] for name in ("none", "best", "few")] == ["", "-100*", "-100"]
    assert "nq, at most 12 questions x 2 seeds (`rounds`)" in text
    assert "- **saa**: better than `none`: `best`; worse: none of them." in text
    brief = {line.split(" | ")[0]: line.split(" | ") for line in matrix(cells).splitlines()}
    assert brief["| best"][1:] == ["0 (-100*) / 100", "12 |"]
    assert brief["| few"][1:] == ["0 (-100) / 100", "3 |"]


def test_the_questions_of_a_split_alone(world, swept):
    from sim.corpora import load_corpus
    from sim.sweep.split import SPLITS, only_split
    from sim.training_rounds import split_of

    _, cells = swept
    asked = {record["query_id"] for record in cells[0]["rounds"]}
    splits = {q.query_id: split_of(q) for q in load_corpus(world).questions if q.query_id in asked}
    for split in SPLITS:
        expected = {name for name, found in splits.items() if found == split}
        if expected:
            found = only_split(cells, split)
            assert all({r["query_id"] for r in cell["rounds"]} == expected for cell in found)
        else:
            with pytest.raises(ConfigError, match="no question"):
                only_split(cells, split)
    with pytest.raises(ConfigError, match="known: train, validation, test"):
        only_split(cells, "other")


@pytest.mark.slow
def test_a_cell_is_what_scr_sim_run_gives_and_ray_gives_the_same(world, tmp_path, monkeypatch):
    monkeypatch.setenv("RAY_AUTH_MODE", "disabled")
    given = config(world, defense=["scr", "tris"], workers=2)
    cells = run_sweep(given, tmp_path / "ray", Quiet())
    assert [c["rounds"] for c in cells] == [
        c["rounds"] for c in run_sweep(config(world, defense=["scr", "tris"]), tmp_path / "here", Quiet())
    ]
    settings = RunConfig(
        dataset=world, attack="poisonedrag", defense=("scr",), object_store_mb=80, compare=False, **BASE
    )
    # in a process of its own: a second Ray in this one depends on what earlier tests did with theirs
    monkeypatch.delenv("RAY_AUTH_MODE")
    monkeypatch.delenv("RAY_AUTH_TOKEN", raising=False)
    script = (
        "import json, sys\n"
        "from sim.config import RunConfig\n"
        "from sim.experiment import run_experiment\n"
        "from sim.progress import Quiet\n"
        "settings = RunConfig.model_validate_json(sys.stdin.read())\n"
        "print(json.dumps(run_experiment(settings, progress=Quiet()).metrics))\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", script], input=settings.model_dump_json(), capture_output=True, text=True
    )
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout.splitlines()[-1])
    cell = next(c for c in cells if c["place"]["attack"] == "poisonedrag" and c["place"]["defense"] == "scr")
    for name in ("asr", "accuracy", "target_rate", "documents", "retrieval", "reliability", "stages"):
        assert cell["metrics"][name] == json.loads(json.dumps(found[name]))
