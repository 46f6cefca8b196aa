from __future__ import annotations

import json

import pytest

from core.cli import main
from sim.bench import BENCHMARKS

RUN_ELSEWHERE = {"node", "verify"}  # in test_node.py, and as a documented command


def test_names_are_listed(capsys):
    assert main(["bench"]) == 0
    assert "fan-out" in capsys.readouterr().out.splitlines()


def test_an_unknown_benchmark_is_one_line(capsys):
    assert main(["bench", "fan-uot"]) == 2
    err = capsys.readouterr().err
    assert err.startswith("scr: unknown benchmark 'fan-uot' (did you mean 'fan-out'?); known: ")
    assert err.count("\n") == 1


def test_a_report_names_machine_and_figures(capsys, monkeypatch):
    monkeypatch.setattr("sim.bench.fan_out.SOURCES", 4)
    assert main(["bench", "fan-out", "--json", "--repeats", "3"]) == 0
    report = json.loads(capsys.readouterr().out)
    assert list(report) == ["bench", "machine", "results"]
    assert report["bench"] == "fan-out"
    assert report["machine"]["cores"] >= 1
    (result,) = report["results"]
    assert result["name"] == "fan_out_4"
    assert result["unit"] == "ms"
    assert result["value"] > 0
    assert abs(result["ratio"] - result["baseline"] / result["value"]) < 0.01


def test_without_json_a_figure_is_a_line(capsys, monkeypatch):
    monkeypatch.setattr("sim.bench.fan_out.SOURCES", 2)
    assert main(["bench", "fan-out", "--repeats", "1"]) == 0
    line = capsys.readouterr().out
    assert line.startswith("fan_out_2 ")
    assert " ms   baseline " in line


@pytest.mark.slow
@pytest.mark.parametrize("name", sorted({*BENCHMARKS.names()} - RUN_ELSEWHERE))
def test_every_benchmark_has_a_trial_in_seconds(name, capsys, monkeypatch, tmp_path):
    monkeypatch.setenv("SCR_DATA", str(tmp_path))  # no data set there: the synthetic world
    assert main(["bench", name, "--small", "--json"]) == 0
    results = json.loads(capsys.readouterr().out)["results"]
    assert results
    assert not any("1000" in result["name"] or "100k" in result["name"] for result in results)
