from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from aggregator.reputation import Reputation
from core.errors import ConfigError, DataError, StoreError
from sim.output import RunFolder
from tests.sim.rounds_made import record

ARMS = ("ms_rag", "defended")


def open_folder(root, fresh=False, **identity):
    return RunFolder(root, "defended", ARMS, {"seed": 0, **identity}, fresh)


def fill(root, count, start=0):
    folder = open_folder(root)
    for i in range(start, count):
        folder.add({arm: record(index=i, answer=f"{arm} {i}") for arm in ARMS}, {})
    folder.close()


def test_rounds_come_back_and_go_on(tmp_path):
    fill(tmp_path, 3)
    fill(tmp_path, 5, start=3)
    folder = open_folder(tmp_path)
    assert folder.done == 5
    assert [r.answer for r in folder.rounds["defended"]] == [f"defended {i}" for i in range(5)]
    assert [r.answer for r in folder.rounds["ms_rag"]] == [f"ms_rag {i}" for i in range(5)]
    assert len((tmp_path / "rounds.jsonl").read_text().splitlines()) == 5
    folder.close()


@given(cut=st.integers(0, 2500), other=st.integers(0, 2500))
def test_whatever_was_being_written_the_arms_stay_in_step(tmp_path_factory, cut, other):
    root = tmp_path_factory.mktemp("run")
    fill(root, 3)
    for name, size in (("rounds.jsonl", cut), ("arms/ms_rag.jsonl", other)):
        path = root / name
        path.write_bytes(path.read_bytes()[:size])
    expected = min((root / name).read_bytes().count(b"\n") for name in ("rounds.jsonl", "arms/ms_rag.jsonl"))
    folder = open_folder(root)
    assert folder.done == expected
    folder.close()
    fill(root, 3, start=expected)
    for name in ("rounds.jsonl", "arms/ms_rag.jsonl"):
        assert [json.loads(line)["index"] for line in (root / name).read_text().splitlines()] == [0, 1, 2]


def test_reputations_are_restored_as_they_were_after_the_last_stored_round(tmp_path):
    folder = open_folder(tmp_path)
    path = folder.reputation_file("defended", 0)
    reputation = Reputation(path)
    seen = []
    for i in range(3):
        reputation.update({"a": i / 2}, states={"filter": bytes([i])})
        folder.add({arm: record(index=i) for arm in ARMS}, {"defended": path})
        seen.append(reputation.reliability(["a"]))
    reputation.update({"a": 0.0}, states={"filter": b"cut off before its round was stored"})
    folder.close()
    again = open_folder(tmp_path)
    again.restore("defended", 0)
    restored = Reputation(again.reputation_file("defended", 0))
    assert restored.reliability(["a"]) == seen[-1]
    assert restored.state("filter") == bytes([2])
    reputation.close()
    restored.close()
    again.close()
    assert len(list((tmp_path / "state").glob("defended-after*"))) == 1


def test_a_missing_reputation_is_a_clear_error(tmp_path):
    fill(tmp_path, 1)
    folder = open_folder(tmp_path)
    with pytest.raises(StoreError, match="--fresh"):
        folder.restore("defended", 0)
    folder.close()


def test_other_settings_are_refused_and_named(tmp_path):
    fill(tmp_path, 1)
    with pytest.raises(ConfigError, match=r"other settings \(seed: 0 then, 1 now\).*--fresh"):
        RunFolder(tmp_path, "defended", ARMS, {"seed": 1})
    folder = RunFolder(tmp_path, "defended", ARMS, {"seed": 1}, fresh=True)
    assert folder.done == 0
    folder.close()


def test_rounds_of_unknown_origin_are_refused(tmp_path):
    (tmp_path / "rounds.jsonl").write_text("{}\n")
    with pytest.raises(ConfigError, match="unknown run"):
        open_folder(tmp_path)


def test_a_line_that_is_no_round_names_its_place(tmp_path):
    fill(tmp_path, 2)
    path = tmp_path / "rounds.jsonl"
    path.write_text(path.read_text().replace('"index":1', '"index":"x"'))
    with pytest.raises(DataError, match=r"rounds\.jsonl:2: "):
        open_folder(tmp_path)


def test_two_runs_do_not_write_to_one_folder(tmp_path):
    folder = open_folder(tmp_path)
    with pytest.raises(StoreError, match="another run"):
        open_folder(tmp_path)
    folder.close()
    open_folder(tmp_path).close()


def test_out_that_is_a_file(tmp_path):
    path = tmp_path / "file"
    path.write_text("")
    with pytest.raises(ConfigError, match="is a file"):
        open_folder(path)


def test_without_a_folder_everything_stays_in_memory(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    folder = open_folder(None)
    folder.add({arm: record() for arm in ARMS}, {})
    folder.write("metrics.json", {"a": 1})
    assert folder.done == 1
    assert folder.reputation_file("defended", 0) is None
    assert list(tmp_path.iterdir()) == []
