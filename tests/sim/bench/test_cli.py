from __future__ import annotations

import json

from core.cli import main


def test_names_are_listed(capsys):
    assert main(["bench"]) == 0
    assert "fan-out" in capsys.readouterr().out.splitlines()


def test_an_unknown_benchmark_is_one_line(capsys):
    assert main(["bench", "fan-uot"]) == 2
    err = capsys.readouterr().err
    assert err.startswith("scr: unknown benchmark 'fan-uot' (did you mean 'fan-out'?); known: ")
    assert err.count("\n") == 1


def test_fan_out_reports_its_time_beside_a_bare_echo(capsys):
    assert main(["bench", "fan-out", "--json", "--repeats", "3"]) == 0
    report = json.loads(capsys.readouterr().out)
    assert report["bench"] == "fan-out"
    assert report["machine"]["cores"] >= 1
    (result,) = report["results"]
    assert result["name"] == "fan_out_100"
    assert result["unit"] == "ms"
    assert result["value"] > 0
    assert abs(result["ratio"] - result["baseline"] / result["value"]) < 0.01
