"""`scr sim run --ray-address`: a run joins a cluster that was there before, and leaves it running."""

from __future__ import annotations

import json
import os
import socket
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import pytest

from tests.sim.tiny_world import write_world

BIN = Path(sys.executable).parent
ENVIRONMENT = {**os.environ, "OMP_NUM_THREADS": "1", "RAY_AUTH_MODE": "disabled"}


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


@pytest.fixture
def cluster():
    """Address of a Ray head node in processes of its own."""
    port = free_port()
    with tempfile.TemporaryDirectory(prefix="scr-head-", dir="/tmp", ignore_cleanup_errors=True) as folder:
        command = [
            BIN / "ray",
            "start",
            "--head",
            "--block",
            "--port",
            port,
            "--node-ip-address",
            "127.0.0.1",
        ]
        command += ["--num-cpus", 2, "--object-store-memory", 100 * 2**20, "--temp-dir", folder]
        command += ["--include-dashboard", "false", "--disable-usage-stats"]
        head = subprocess.Popen(
            [str(part) for part in command],
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            env={**ENVIRONMENT, "RAY_enable_worker_prestart": "0"},
        )
        deadline = time.monotonic() + 120
        while True:
            with socket.socket() as probe:
                if probe.connect_ex(("127.0.0.1", port)) == 0:
                    break
            assert head.poll() is None
            assert time.monotonic() < deadline
            time.sleep(0.2)
        yield f"127.0.0.1:{port}", head
        head.terminate()
        head.wait(60)


@pytest.mark.slow
def test_a_run_joins_a_cluster_and_leaves_it_running(cluster, tmp_path):
    address, head = cluster
    world = write_world(tmp_path / "world", n=40)
    for number in range(2):
        out = tmp_path / f"out{number}"
        flags = [
            "--dataset",
            world,
            "--embedder",
            "hashing",
            "--sources",
            3,
            "--defense",
            "none",
            "--queries",
            10,
        ]
        flags += ["--ray-address", address, "--out", out, "--deadline", 60]
        done = subprocess.run(
            [str(part) for part in (BIN / "scr", "sim", "run", *flags)],
            capture_output=True,
            text=True,
            timeout=240,
            env=ENVIRONMENT,
        )
        assert done.returncode == 0, done.stderr
        assert json.loads((out / "metrics.json").read_text())["failures"] == {}
        assert head.poll() is None
    assert len((tmp_path / "out0" / "rounds.jsonl").read_text().splitlines()) == 10


@pytest.mark.slow
def test_where_no_cluster_answers_one_line_says_so(tmp_path):
    world = write_world(tmp_path / "world", n=20)
    flags = ["--dataset", world, "--embedder", "hashing", "--sources", 3, "--defense", "none"]
    done = subprocess.run(
        [
            str(part)
            for part in (BIN / "scr", "sim", "run", *flags, "--ray-address", f"127.0.0.1:{free_port()}")
        ],
        capture_output=True,
        text=True,
        timeout=200,
        env=ENVIRONMENT,
    )
    assert done.returncode == 2
    assert "Traceback" not in done.stderr
    assert "no Ray cluster to join there" in done.stderr.splitlines()[-1]
