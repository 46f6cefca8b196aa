"""The fenced commands of the documentation run to their end, at a smaller size, in the order of each block.

Every flag of the documentation stays; `SMALLER` gives some of them a smaller value and adds others, such as the
quick embedder. What is not run, only parsed (test_documented_commands.py), stands in `PARSED_ONLY` with why.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from contextlib import ExitStack
from pathlib import Path

import pytest

from aggregator.integrations.client import AggregatorClient
from tests.documentation import PAGES, Block, fenced, furnish, furnish_results, scr
from tests.integration.test_documented_commands import RUN_ELSEWHERE
from tests.sim.tiny_world import ENDS, STEMS

BLOCKS = [
    block
    for page in PAGES
    if page not in RUN_ELSEWHERE
    for block in fenced(page)
    if any(scr(words) for words in block.commands)
]

PARSED_ONLY = {  # how a command begins -> why it is not run here
    "claims check --short": "a step of .ci/run runs it",
    "data get nq": "needs the network",
    "source attach": "needs a running Qdrant; tests/source_node/backends reads a local collection",
    "bench": "measures for minutes; tests/sim/bench runs each at a small size",
    "sim reproduce scr-1": "minutes with a language model; tests/sim/reproduce/test_scr.py makes it small",
    "sim reproduce ado-7": "minutes with a language model; tests/sim/reproduce/test_ado.py makes it small",
    "sim reproduce ragpart-8": "minutes with a language model; test_ragpart.py makes it small",
}
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
}
IF_PRESENT = {"--rounds-warmup": "1"}
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
        if flag in result:
            result[result.index(flag) + 1] = value
        else:
            result += [flag, value] if value else [flag]
    return result


class Shell:
    """Runs `scr` commands in a folder; servers stay until the end and are stopped by their ids."""

    def __init__(self, folder: Path, stack: ExitStack) -> None:
        self.folder = folder
        self.addresses: dict[str, str] = {}
        self._stack = stack
        path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
        self._environment = {**os.environ, "PATH": path, "OMP_NUM_THREADS": "1"}

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


def _reason(words: tuple[str, ...]) -> str | None:
    line = " ".join(words)
    return next((why for start, why in PARSED_ONLY.items() if line.startswith(start)), None)


def test_nothing_stands_in_the_list_of_what_is_only_parsed_without_need() -> None:
    lines = [" ".join(scr(words)) for block in BLOCKS for words in block.commands]
    for start in PARSED_ONLY:
        assert any(line.startswith(start) for line in lines), start


def test_no_documented_flag_is_lost() -> None:
    for block in BLOCKS:
        for words in block.commands:
            given = [word for word in scr(words) if word.startswith("--")]
            assert [word for word in smaller(scr(words)) if word in given] == given


@pytest.mark.slow
@pytest.mark.timeout(900)
@pytest.mark.parametrize("block", BLOCKS, ids=str)
def test_the_block_runs(block: Block, furnished: Path, tmp_path: Path) -> None:
    commands = [scr(words) for words in block.commands if scr(words)]
    if all(_reason(words) for words in commands):
        pytest.skip("; ".join(f"{' '.join(words[:3])}: {_reason(words)}" for words in commands))
    folder = tmp_path / "here"
    shutil.copytree(furnished, folder)
    with ExitStack() as stack:
        shell = Shell(folder, stack)
        for documented in commands:
            if _reason(documented):
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
            else:
                shell.run(words)
            if name == "aggregator serve" and "--state" in words and "--insecure" in words:
                shell.ask_often(20)  # its trail is what the commands after it learn from
            if "--out" in words:
                assert (folder / words[words.index("--out") + 1]).exists()
