from __future__ import annotations

import pytest

from core.errors import DataError
from sim.report.load import load_run
from tests.sim.report.runs_made import write_run


def test_everything_that_a_run_leaves_is_read(tmp_path):
    run = load_run(write_run(tmp_path, n=4))
    assert len(run.rounds) == 4
    assert run.before[0, 0].answer == "blue"
    assert len(run.texts) == 4 * 5 * 3
    assert run.name == "poisonedrag against scr"
    assert run.shards[0]["alpha"] == 0.5


def test_an_older_or_unfinished_run_is_read_without_what_it_lacks(tmp_path):
    root = write_run(tmp_path, n=4)
    for name in (
        "texts.jsonl",
        "shards.json",
        "metrics.json",
        "comparison.json",
        "config.yaml",
        "arms/ms_rag.jsonl",
    ):
        (root / name).unlink()
    with (root / "rounds.jsonl").open("a") as file:
        file.write('{"trial": 0, "torn')
    run = load_run(root)
    assert len(run.rounds) == 4
    assert not run.texts
    assert not run.before
    assert not run.metrics


@pytest.mark.parametrize(
    ("name", "content", "told"),
    [
        ("rounds.jsonl", "", "no round"),
        ("rounds.jsonl", "{}\n", r"rounds\.jsonl:1"),
        ("metrics.json", "{", "not JSON"),
        ("comparison.json", "[]", "must be an object"),
        ("arms/ms_rag.jsonl", "{}\n", r"ms_rag\.jsonl:1"),
        ("texts.jsonl", "{}\n", r"texts\.jsonl:1"),
    ],
)
def test_what_is_no_run_is_named(tmp_path, name, content, told):
    root = write_run(tmp_path, n=2)
    (root / name).write_text(content)
    with pytest.raises(DataError, match=told):
        load_run(root)


def test_another_folder_is_named(tmp_path):
    with pytest.raises(DataError, match="neither a run"):
        load_run(tmp_path)
