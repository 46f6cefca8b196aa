"""A federation of real processes under mutual TLS whose links, disks and clock can be made to fail."""

from __future__ import annotations

import json
import os
import socket
import sqlite3
import struct
import subprocess
import time
from collections.abc import Sequence
from contextlib import ExitStack, closing
from pathlib import Path
from typing import Any

import grpc

from core.records import PrivacyRequest, Query
from core.rpc import open_channel
from core.tls import TlsFiles
from core.wire import to_ask_request, to_retrieve_request
from protos import aggregator_pb2_grpc, source_node_pb2_grpc
from tests.certificates import Authority
from tests.proxy import Proxy
from tests.zygote import Process, Zygote, wait_for

SOURCES = [f"s{i}" for i in range(10)]
QUESTION = "Where does the night archive stand?"
DEADLINE_S = 1.0  # of a fan-out
ASKER_S = 3.0  # of an answer
EPSILON = 0.01
PROBER = "probe"


class Disk:
    """A file system of its own, that can be filled."""

    def __init__(self, folder: Path, megabytes: int) -> None:
        self.folder = folder
        folder.mkdir(parents=True)
        mount = ["mount", "-t", "tmpfs", "-o", f"size={megabytes}m", "tmpfs", str(folder)]
        subprocess.run(mount, check=True, capture_output=True, timeout=60)
        self._ballast = folder / "ballast"

    def fill(self) -> None:
        with self._ballast.open("wb", buffering=0) as file:
            size = 1 << 20
            while size >= 4096:  # a page
                try:
                    os.posix_fallocate(file.fileno(), file.seek(0, os.SEEK_END), size)
                except OSError:
                    size //= 4

    def free(self) -> None:
        self._ballast.unlink(missing_ok=True)

    def close(self) -> None:
        subprocess.run(["umount", "-l", str(self.folder)], check=False, capture_output=True, timeout=60)


class Node:
    """One source: its process, its disk, the proxy that the aggregator reaches it through."""

    def __init__(self, world: World, name: str, number: int) -> None:
        self.name = name
        self.world = world
        self.disk = Disk(world.folder / name, 48)
        world.stack.callback(self.disk.close)
        corpus = self.disk.folder / "corpus.jsonl"
        texts = [f"The night archive stands in the {'blue' if number < 7 else 'red'} hall."]
        texts += [f"Of {name}: rain fell on garden number {i}." for i in range(20)]
        corpus.write_text(
            "\n".join(json.dumps({"_id": f"{name}-{i}", "text": t}) for i, t in enumerate(texts))
        )
        self.store = self.disk.folder / "store"
        ingest = ["source", "ingest", "--input", corpus, "--store", self.store, "--embedder", "hashing"]
        done = world.zygote.spawn(f"{name}-ingest", ingest)
        wait_for(lambda: not done.alive, "ingest")
        config = self.disk.folder / "serve.yaml"
        config.write_text("privacy: {budget: 1000000.0}\ngrace_s: 0.5\n")
        self.port = _free_port()
        self._serve = ["source", "serve", "--store", self.store, "--source-id", name, "--config", config]
        self._serve += [
            "--listen",
            f"127.0.0.1:{self.port}",
            *_flags(world.authority.issue(name, loopback=True)),
        ]
        self.process = self.start()
        self.proxy = Proxy(("127.0.0.1", self.port), seed=number)
        world.stack.callback(self.proxy.close)
        channel = open_channel(f"127.0.0.1:{self.port}", world.authority.issue(PROBER), name)
        world.stack.callback(channel.close)
        self.stub: Any = source_node_pb2_grpc.SourceNodeStub(channel)
        self.acknowledged: list[str] = []  # request ids of private answers that arrived
        self.tried = 0

    def start(self) -> Process:
        self.process = self.world.zygote.spawn(self.name, self._serve)
        return self.process

    def probe(self) -> tuple[str, Any]:
        """A private question on its way: its answer costs budget and leaves an audit record."""
        self.tried += 1
        request_id = f"{self.name}-probe-{self.tried}"
        request = to_retrieve_request(Query(QUESTION, request_id), 2, PrivacyRequest("laplace", EPSILON))
        return request_id, self.stub.Retrieve.future(request, timeout=ASKER_S)

    def collect(self, request_id: str, call: Any) -> bool:
        """Wait for a probe; an answer that arrived is one that must never be forgotten."""
        try:
            call.result(timeout=2 * ASKER_S)
        except (grpc.RpcError, grpc.FutureTimeoutError):
            return False
        self.acknowledged.append(request_id)
        return True

    def charges(self) -> int:
        """How many private answers the ledger has booked for the prober."""
        with closing(sqlite3.connect(self.store / "privacy.sqlite", timeout=60)) as ledger:
            row = ledger.execute("SELECT nano FROM spent WHERE requester=?", (PROBER,)).fetchone()
        return 0 if row is None else round(row[0] / (EPSILON * 1e9))

    def recorded(self) -> set[str]:
        """Request ids in the audit log."""
        lines = (self.store / "audit" / "log.jsonl").read_bytes().splitlines(keepends=True)
        return {json.loads(line)["request_id"] for line in lines if line.endswith(b"\n")}


class World:
    """The aggregator and its sources."""

    def __init__(self, stack: ExitStack, folder: Path) -> None:
        self.stack = stack
        self.folder = folder
        self.zygote = Zygote(folder / "logs")
        stack.callback(self.zygote.close)
        self.authority = Authority(folder / "tls")
        self.nodes = [Node(self, name, number) for number, name in enumerate(SOURCES)]
        for node in self.nodes:
            node.process.address()
        self.disk = Disk(folder / "aggregator", 256)
        stack.callback(self.disk.close)
        self.state = self.disk.folder / "state"
        self.clock = folder / "clock"
        self.step_clock(0.0)
        self.port = _free_port()
        self._serve: list[object] = ["aggregator", "serve", "--listen", f"127.0.0.1:{self.port}"]
        self._serve += ["--embedder", "hashing", "--defense", "agreement", "--state", self.state]
        self._serve += ["--deadline", DEADLINE_S, "--retries", 1, "--breaker-failures", 4]
        self._serve += ["--breaker-reset", 0.2]
        self._serve += [f for n in self.nodes for f in ("--source", f"{n.name}={n.proxy.address}")]
        self._serve += _flags(self.authority.issue("aggregator", loopback=True))
        self.process = self.start()
        self.process.address()
        channel = open_channel(f"127.0.0.1:{self.port}", self.authority.issue("doctor"), "aggregator")
        stack.callback(channel.close)
        self.stub: Any = aggregator_pb2_grpc.AggregatorStub(channel)
        self.history: list[dict[str, float]] = []  # reliability after each answer, the last one last
        self.uncertain = False  # whether a round went on whose end nobody saw
        self.rounds: list[str] = []  # answers that arrived with their trail
        self.longest_s = 0.0

    def start(self) -> Process:
        self.process = self.zygote.spawn("aggregator", self._serve, clock=self.clock)
        return self.process

    def step_clock(self, seconds: float) -> None:
        """Put the aggregator's wall clock `seconds` ahead of the true one."""
        if not self.clock.exists():
            self.clock.write_bytes(struct.pack("d", seconds))
        with self.clock.open("r+b") as file:  # in place: the process has it mapped
            file.write(struct.pack("d", seconds))

    def ask(self) -> Any:
        """One question; None where no answer came. What the answer acknowledged is noted."""
        start = time.perf_counter()
        try:
            reply = self.stub.Ask(to_ask_request(QUESTION, 2), timeout=ASKER_S, wait_for_ready=True)
        except grpc.RpcError:
            self.uncertain = True
            return None
        finally:
            self.longest_s = max(self.longest_s, time.perf_counter() - start)
        self.uncertain = False
        self.history.append(dict(reply.reliability))
        if "the trail could not be stored" not in list(reply.warnings):
            self.rounds.append(reply.round_id)
        return reply

    def reliability(self) -> dict[str, float]:
        """What the aggregator's file holds now."""
        with closing(sqlite3.connect(self.state / "reputation.sqlite", timeout=60)) as database:
            rows = database.execute("SELECT id, COALESCE(verified, smoothed) FROM sources").fetchall()
        return dict(rows)

    def trails(self) -> list[dict[str, Any]]:
        lines = (self.state / "trail.jsonl").read_text().splitlines(keepends=True)
        return [json.loads(line) for line in lines if line.endswith("\n")]


def _flags(files: TlsFiles) -> Sequence[object]:
    return ["--tls-cert", files.cert, "--tls-key", files.key, "--tls-ca", files.ca]


def _free_port() -> int:
    with socket.create_server(("127.0.0.1", 0)) as probe:
        return int(probe.getsockname()[1])


def mounting_problem(folder: Path) -> str | None:
    """Why no file system can be mounted here; None where one can."""
    try:
        Disk(folder, 1).close()
    except (OSError, subprocess.SubprocessError) as error:
        return f"mount -t tmpfs is not permitted here: {error}"
    return None
