"""Real `scr` processes at the price of a fork: one process imports everything once and forks for each.

`python -m tests.zygote` reads one JSON order a line (see `Zygote.spawn`) and answers each with a pid. The
child enters its network namespace, takes its limits and files, and runs `core.cli.main`: from there it is
the same process as one started from a shell, and may be killed like one.
"""

from __future__ import annotations

import ctypes
import importlib
import json
import mmap
import os
import signal
import struct
import subprocess
import sys
import time
import types
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[1]
_CLONE_NEWNET = 0x40000000
_PR_SET_PDEATHSIG = 1
_PATIENCE_S = 120.0


def wait_for(condition: Callable[[], Any], what: str, seconds: float = _PATIENCE_S) -> Any:
    """Poll until `condition` gives something true, and return that."""
    end = time.monotonic() + seconds
    while True:
        found = condition()
        if found:
            return found
        assert time.monotonic() < end, f"not within {seconds:.0f} s: {what}"
        time.sleep(0.02)


@dataclass
class Process:
    """A running `scr`: its pid, what it printed and what it logged."""

    pid: int
    name: str
    out: Path
    log: Path

    @property
    def alive(self) -> bool:
        try:
            os.kill(self.pid, 0)
        except ProcessLookupError:
            return False
        return True

    def address(self) -> str:
        """HOST:PORT of its line `listening HOST:PORT`, once it is there."""

        def announced() -> str:
            text = self.out.read_text() if self.out.exists() else ""
            if not text.startswith("listening ") or "\n" not in text:
                assert self.alive, f"{self.name} ended: {self.log.read_text()[-2000:]}"
                return ""
            return text.split()[1]

        return str(wait_for(announced, f"{self.name} listens"))

    def kill(self, number: int = signal.SIGKILL) -> None:
        """Send a signal and wait for the end."""
        if self.alive:
            os.kill(self.pid, number)
        wait_for(lambda: not self.alive, f"{self.name} has ended")


class Zygote:
    """Forks `scr` processes on request; those still running at `close` are killed, each by its pid."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        folder.mkdir(parents=True, exist_ok=True)
        self.processes: list[Process] = []
        self._count = 0
        environment = {**os.environ, "OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1"}
        with (folder / "zygote.log").open("w") as log:
            self._parent = subprocess.Popen(
                [sys.executable, "-m", "tests.zygote"],
                cwd=ROOT,
                env=environment,
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=log,
                text=True,
            )

    def spawn(
        self, name: str, arguments: Sequence[object], *, netns: str | None = None, clock: Path | None = None
    ) -> Process:
        """`scr ARGUMENTS`, optionally in a network namespace, and with a wall clock that can be stepped.

        `clock` is a file of 8 bytes: a float64, the seconds by which `time.time` is ahead in the process.
        """
        self._count += 1
        out = self.folder / f"{name}.{self._count}.out"
        log = self.folder / f"{name}.log"
        order = {
            "arguments": [str(a) for a in arguments],
            "netns": netns,
            "clock": None if clock is None else str(clock),
            "out": str(out),
            "log": str(log),
        }
        assert self._parent.stdin is not None
        assert self._parent.stdout is not None
        self._parent.stdin.write(json.dumps(order) + "\n")
        self._parent.stdin.flush()
        answer = self._parent.stdout.readline()
        assert answer, (self.folder / "zygote.log").read_text()[-2000:]
        process = Process(int(answer), name, out, log)
        self.processes = [p for p in self.processes if p.alive] + [process]
        return process

    def close(self) -> None:
        for process in self.processes:
            process.kill()
        assert self._parent.stdin is not None
        assert self._parent.stdout is not None
        self._parent.stdin.close()
        self._parent.wait(timeout=60)
        self._parent.stdout.close()


_steps: list[mmap.mmap] = []
_true_time = time.time


def _stepped_time() -> float:
    return _true_time() + sum(struct.unpack("d", step[:8])[0] for step in _steps)


def _child(order: dict[str, Any]) -> None:
    ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)  # nothing outlives the test
    if order["netns"]:
        handle = os.open(f"/run/netns/{order['netns']}", os.O_RDONLY)
        if ctypes.CDLL(None, use_errno=True).setns(handle, _CLONE_NEWNET) != 0:
            raise OSError(ctypes.get_errno(), f"network namespace {order['netns']}")
        os.close(handle)
    if order["clock"]:
        with Path(order["clock"]).open("rb") as file:
            _steps.append(mmap.mmap(file.fileno(), 8, prot=mmap.PROT_READ))
    for number, path, flags in (
        (0, "/dev/null", os.O_RDONLY),
        (1, order["out"], os.O_WRONLY | os.O_CREAT | os.O_TRUNC),
        (2, order["log"], os.O_WRONLY | os.O_CREAT | os.O_APPEND),
    ):
        handle = os.open(path, flags, 0o644)
        os.dup2(handle, number)
        os.close(handle)
    from core.cli import main

    status = main(order["arguments"])
    sys.stdout.flush()
    sys.stderr.flush()
    os._exit(status)


def serve_orders() -> None:
    """Import what the servers need, then fork for every order."""
    time.time = _stepped_time  # before anything takes it as a default
    for module in (
        *("aggregator.cli", "aggregator.assembly", "aggregator.servicer", "aggregator.verification"),
        *("source_node.cli", "source_node.serve_cli", "source_node.servicer", "source_node.ingest"),
        *("grpc._channel", "grpc._server", "grpc._utilities"),
    ):
        importlib.import_module(module)
    # a step of the real clock is seen by gRPC's Python and C++ alike: neither may see this one alone
    true = types.SimpleNamespace(**{**vars(time), "time": _true_time})
    for name, loaded in list(sys.modules.items()):
        if name.startswith("grpc.") and getattr(loaded, "time", None) is time:
            loaded.time = true  # type: ignore[attr-defined]

    signal.signal(signal.SIGCHLD, signal.SIG_IGN)  # the kernel reaps: a pid that is gone is gone
    for line in sys.stdin:
        pid = os.fork()
        if pid == 0:
            try:
                signal.signal(signal.SIGCHLD, signal.SIG_DFL)
                _child(json.loads(line))
            except BaseException as error:
                sys.stderr.write(f"{type(error).__name__}: {error}\n")
                sys.stderr.flush()
                os._exit(70)
        sys.stdout.write(f"{pid}\n")
        sys.stdout.flush()


if __name__ == "__main__":
    serve_orders()
