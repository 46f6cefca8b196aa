"""`scr sim run` with real Ray, real gRPC and real processes, on small data."""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import sys
import time
from pathlib import Path

import psutil
import pytest

from tests.integration.check_metrics import problems
from tests.sim.tiny_world import write_world

SCR = Path(sys.executable).with_name("scr")
COMMON = ("--embedder", "hashing", "--sources", "4", "--malicious", "0.25", "--deadline", "60")


@pytest.fixture(scope="module")
def world(tmp_path_factory):
    return write_world(tmp_path_factory.mktemp("world"), n=180)


@pytest.fixture(scope="module")
def cache(tmp_path_factory):
    return tmp_path_factory.mktemp("cache")


def start(world: Path, out: Path, cache: Path, *flags: str) -> subprocess.Popen[str]:
    command = [SCR, "sim", "run", "--dataset", world, "--out", out, "--cache-dir", cache, *COMMON, *flags]
    return subprocess.Popen(
        [str(part) for part in command],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
        # whoever started the tests in the background left SIGINT ignored
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.default_int_handler),
        env={**os.environ, "OMP_NUM_THREADS": "1"},
    )


def finish(process: subprocess.Popen[str]) -> tuple[str, str]:
    out, err = process.communicate(timeout=280)
    assert process.returncode == 0, err
    return out, err


def rounds(path: Path) -> list[dict]:
    """The rounds in `path` without what may differ between equal runs."""
    found = [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]
    for one in found:
        del one["latency_ms"]
    return found


def wait_for_rounds(process: subprocess.Popen[str], out: Path, count: int) -> None:
    path = out / "rounds.jsonl"
    deadline = time.monotonic() + 200
    while not path.exists() or path.read_bytes().count(b"\n") < count:
        assert process.poll() is None, process.communicate()[1]
        assert time.monotonic() < deadline
        time.sleep(0.02)


def source_processes(process: subprocess.Popen[str]) -> list[psutil.Process]:
    children = psutil.Process(process.pid).children(recursive=True)
    return [child for child in children if "SourceActor" in " ".join(child.cmdline())]


ATTACK = ("--attack", "poisonedrag", "--defense", "none", "--queries", "120", "--compare", "--trials", "2")


@pytest.fixture(scope="module")
def whole_run(world, cache, tmp_path_factory):
    """A run that nobody disturbed: its folder and what it printed."""
    out = tmp_path_factory.mktemp("whole")
    printed, _ = finish(start(world, out, cache, *ATTACK))
    return out, printed


def test_a_run_leaves_its_files_and_prints_the_table(whole_run, world):
    out, printed = whole_run
    assert problems((out / "metrics.json").read_text()) == []
    metrics = json.loads((out / "metrics.json").read_text())
    assert (metrics["n_queries"], metrics["n_trials"]) == (120, 2)
    assert metrics["config"]["dataset"] == str(world)
    assert metrics["documents"]["tpr"] == 1.0
    assert metrics["documents"]["tnr"] == 0.0
    assert metrics["documents"]["n_malicious"] > 0
    assert metrics["retrieval"]["retrieval_asr"] > 0.9
    assert metrics["failures"] == {}
    assert sum(source["malicious"] for source in metrics["sources"]) == 1
    assert len(rounds(out / "rounds.jsonl")) == 240
    for text in ("no attack", "undefended (MS-RAG)", "single source (SS-RAG)", "simulated reader"):
        assert text in printed
    rows = {row["arm"]: row for row in json.loads((out / "comparison.json").read_text())["rows"]}
    assert list(rows) == ["no_attack", "ss_rag", "ms_rag"]
    assert rows["no_attack"]["asr"]["value"] is None
    assert rows["ms_rag"]["asr"] == metrics["asr"]
    assert rows["ms_rag"]["asr"]["value"] > rows["no_attack"]["target_rate"]["value"]
    low, high = rows["ms_rag"]["accuracy"]["ci95"]
    assert 0.0 <= low <= high <= 1.0


def test_trials_differ_in_partition_and_placement_and_ask_the_same(whole_run):
    found = rounds(whole_run[0] / "rounds.jsonl")
    first, second = found[:120], found[120:]
    assert [r["query_id"] for r in first] == [r["query_id"] for r in second]
    holder = [
        {(d["source_id"], d["doc_id"]) for r in trial for d in r["documents"]} for trial in (first, second)
    ]
    assert holder[0] != holder[1]


def test_questions_with_a_poison_record_come_first(whole_run):
    asked = [r["query_id"] for r in rounds(whole_run[0] / "rounds.jsonl")[:120]]
    assert asked[:90] == [f"q{i}" for i in range(90)]


def test_sigint_leaves_a_run_that_the_same_command_completes_to_the_same_rounds(
    whole_run, world, cache, tmp_path
):
    process = start(world, tmp_path, cache, *ATTACK)
    wait_for_rounds(process, tmp_path, 30)
    os.killpg(process.pid, signal.SIGINT)  # as a terminal does: every process of the group gets it
    _, err = process.communicate(timeout=60)
    assert process.returncode == 130
    assert "the same command goes on from there" in err
    assert err.rstrip().endswith("scr: interrupted")
    assert "Traceback" not in err
    stored = len(rounds(tmp_path / "rounds.jsonl"))
    assert 30 <= stored < 240
    assert not (tmp_path / "metrics.json").exists()
    _, err = finish(start(world, tmp_path, cache, *ATTACK))
    assert f"{stored} of 240 rounds" in err
    for name in ("rounds.jsonl", "arms/no_attack.jsonl", "arms/ss_rag.jsonl"):
        assert rounds(tmp_path / name) == rounds(whole_run[0] / name)
    both = [json.loads((out / "metrics.json").read_text()) for out in (tmp_path, whole_run[0])]
    for metrics in both:
        del metrics["latency_ms"], metrics["config"]
    assert both[0] == both[1]


def test_killed_outright_it_goes_on_too(whole_run, world, cache, tmp_path):
    process = start(world, tmp_path, cache, *ATTACK)
    wait_for_rounds(process, tmp_path, 10)
    sources = source_processes(process)
    process.kill()
    process.communicate()
    assert len(sources) == 4
    assert not psutil.wait_procs(sources, timeout=60)[1]
    finish(start(world, tmp_path, cache, *ATTACK))
    assert rounds(tmp_path / "rounds.jsonl") == rounds(whole_run[0] / "rounds.jsonl")


def test_a_complete_run_is_taken_as_it_is_and_other_settings_are_refused(whole_run, world, cache):
    out, printed = whole_run
    before = (out / "rounds.jsonl").read_bytes()
    begun = time.monotonic()
    again, err = finish(start(world, out, cache, *ATTACK))
    assert time.monotonic() - begun < 30
    assert again == printed
    assert "240 of 240 rounds" in err
    assert (out / "rounds.jsonl").read_bytes() == before
    process = start(world, out, cache, *ATTACK, "--seed", "1")
    _, err = process.communicate(timeout=60)
    assert process.returncode == 2
    assert re.search(r"^scr: --out .* other settings \(seed: 0 then, 1 now\)", err, re.MULTILINE)


def test_a_source_killed_in_mid_run_is_counted_and_the_run_ends_well(world, cache, tmp_path):
    process = start(world, tmp_path, cache, *ATTACK[:4], "--queries", "180", "--trials", "2", "--no-compare")
    wait_for_rounds(process, tmp_path, 20)
    victims = source_processes(process)
    assert len(victims) == 4
    victims[1].kill()
    _, err = finish(process)
    assert "Traceback" not in err
    metrics = json.loads((tmp_path / "metrics.json").read_text())
    assert problems((tmp_path / "metrics.json").read_text()) == []
    lost = [r for r in rounds(tmp_path / "rounds.jsonl") if r["failures"]]
    assert 180 < len(lost) <= 340
    assert metrics["failures"] == {"unavailable": len(lost)}
    assert len({failure["source_id"] for r in lost for failure in r["failures"]}) == 1
    assert all(len({d["source_id"] for d in r["documents"]}) == 3 for r in lost)


def test_source_processes_load_neither_torch_nor_the_aggregator(world, cache, tmp_path):
    process = start(world, tmp_path, cache, "--defense", "none", "--queries", "180", "--trials", "3")
    wait_for_rounds(process, tmp_path, 5)
    loaded = {
        Path(mapped.path).name for source in source_processes(process) for mapped in source.memory_maps()
    }
    finish(process)
    assert loaded
    assert not [name for name in loaded if name.startswith(("libtorch", "libsklearn", "_k_means"))]
