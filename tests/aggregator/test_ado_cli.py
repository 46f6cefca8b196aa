"""`scr ado calibrate`: benign traffic in, ranges out; attacks and nonsense refused by line."""

from __future__ import annotations

import json
from contextlib import ExitStack
from pathlib import Path

import pytest

from core.cli import main
from defenses.ado.calibrate import DEFAULT, read
from tests.aggregator.parts import answering, raw_source


def write(path: Path, lines: list[dict]) -> Path:
    path.write_text("".join(json.dumps(line) + "\n" for line in lines))
    return path


def events(n: int = 40) -> list[dict]:
    return [
        {"time": 10.0 * i, "user_id": f"u{i % 3}", "text": f"what is item {i} of list {i % 5}"}
        for i in range(n)
    ]


def test_from_recorded_queries(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    traffic = write(tmp_path / "t.jsonl", events())
    assert main(["ado", "calibrate", "--traffic", str(traffic), "--out", str(tmp_path / "c.json")]) == 0
    assert "40 queries, 0 rounds; retrieval signals keep their defaults" in capsys.readouterr().out
    learned = read(tmp_path / "c.json")
    assert learned.ranges["length"].median == 7
    assert learned.ranges["tightness"] == DEFAULT.ranges["tightness"]


def test_without_times_speed_is_not_calibrated(tmp_path: Path) -> None:
    traffic = write(tmp_path / "t.jsonl", [{"text": f"question {i}"} for i in range(30)])
    assert main(["ado", "calibrate", "--traffic", str(traffic), "--out", str(tmp_path / "c.json")]) == 0
    assert "velocity" not in read(tmp_path / "c.json").ranges


def test_from_trails(tmp_path: Path) -> None:
    passes = [
        {"pass": "before", "signals": {"length": 4.0, "velocity": 0.5}},
        {"pass": "after", "signals": {"tightness": 0.5}},
    ]
    lines = [{"query": f"q {i}", "orchestration": {"passes": passes}} for i in range(25)]
    traffic = write(tmp_path / "trail.jsonl", lines)
    assert main(["ado", "calibrate", "--traffic", str(traffic), "--out", str(tmp_path / "c.json")]) == 0
    learned = read(tmp_path / "c.json")
    assert (learned.n_queries, learned.n_rounds) == (25, 25)
    assert learned.ranges["tightness"].median == 0.5


def test_from_running_sources(tmp_path: Path) -> None:
    traffic = write(tmp_path / "t.jsonl", events(25))
    with ExitStack() as stack:
        texts = ["item one of list one", "the second item of a list", "no item here", "lists hold items"]
        source = stack.enter_context(raw_source(answering("a", texts)))
        arguments = ["ado", "calibrate", "--traffic", str(traffic), "--out", str(tmp_path / "c.json")]
        assert main([*arguments, "--source", f"a={source}", "--insecure", "--embedder", "hashing"]) == 0
    learned = read(tmp_path / "c.json")
    assert learned.n_rounds == 25
    assert learned.ranges["drop_off"].upper > 0


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ({"text": "x", "kind": "membership"}, "t.jsonl:1: is marked 'membership': calibrate on benign"),
        ({"txt": "x"}, "t.jsonl:1: needs a text"),
        ({"text": "x", "time": "noon"}, "t.jsonl:1: needs a text"),
    ],
)
def test_bad_traffic(tmp_path: Path, capsys: pytest.CaptureFixture[str], line: dict, message: str) -> None:
    traffic = write(tmp_path / "t.jsonl", [line])
    assert main(["ado", "calibrate", "--traffic", str(traffic), "--out", str(tmp_path / "c.json")]) == 2
    assert message in capsys.readouterr().err
    assert not (tmp_path / "c.json").exists()


def test_missing_flags_files_and_too_few(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["ado", "calibrate", "--out", str(tmp_path / "c.json")]) == 2
    assert "--traffic FILE is missing" in capsys.readouterr().err
    assert main(["ado", "calibrate", "--traffic", str(tmp_path / "no"), "--out", "c.json"]) == 2
    assert "cannot be read" in capsys.readouterr().err
    traffic = write(tmp_path / "t.jsonl", events(5))
    assert main(["ado", "calibrate", "--traffic", str(traffic), "--out", str(tmp_path / "c.json")]) == 2
    assert "at least 20" in capsys.readouterr().err
