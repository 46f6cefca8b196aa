"""docs/deploy.md is true: every shell block runs, as it stands, in one shell from top to bottom."""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
WALK = ROOT / "docs" / "deploy.md"


def blocks() -> list[str]:
    return re.findall(r"```sh\n(.*?)```", WALK.read_text(encoding="utf-8"), re.DOTALL)


def test_all_code_is_run() -> None:
    text = WALK.read_text(encoding="utf-8")
    assert len(blocks()) == text.count("```") / 2, "a block without `sh` would not be run"
    walk = "\n".join(blocks())
    steps = ("certs init", "source ingest", "source serve", "aggregator serve", "ask", "source withdraw")
    for step in (
        *steps,
        "certs issue --ca tls --name clinic",
        "source audit verify",
        "aggregator sources add",
    ):
        assert f"scr {step}" in walk


@pytest.mark.slow
@pytest.mark.timeout(900)
def test_the_walk(tmp_path: Path) -> None:
    script = tmp_path / "walk.sh"
    script.write_text("set -euo pipefail\n" + "\n".join(blocks()), encoding="utf-8")
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    run = subprocess.Popen(
        ["bash", "-x", str(script)],
        cwd=tmp_path,
        env={**os.environ, "PATH": path, "OMP_NUM_THREADS": "1"},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )
    try:
        out, error = run.communicate(timeout=800)
    finally:
        if run.poll() is None:
            os.killpg(run.pid, signal.SIGKILL)  # this test's own shell and what it started
    assert run.returncode == 0, error[-4000:]
    assert "blue hall" in (tmp_path / "answer.txt").read_text()
    lines = (tmp_path / "sources.txt").read_text().splitlines()
    assert [line.split()[0] for line in lines] == ["clinic", "bank"]
    after = json.loads((tmp_path / "after.json").read_text())
    assert {d["doc_id"] for d in after["documents"]} >= {"c2", "b2"}
    assert "c3" not in {d["doc_id"] for d in after["documents"]}
    assert "records are sound" in (tmp_path / "audit.txt").read_text()
    audit = (tmp_path / "clinic" / "store" / "audit" / "log.jsonl").read_text()
    assert '"c3"' in audit
    assert "night archive" not in audit
    assert out
