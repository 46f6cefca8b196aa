"""One aggregator and six institutions on hosts of their own: links are cut, slowed and spoilt."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import AbstractContextManager, ExitStack
from pathlib import Path
from typing import Any

import pytest

from core.rpc import open_channel
from core.wire import to_ask_request
from protos import aggregator_pb2_grpc
from tests.certificates import Authority
from tests.netns.fabric import Fabric
from tests.proxy import Proxy
from tests.zygote import Zygote, wait_for

pytestmark = [pytest.mark.netns, pytest.mark.slow, pytest.mark.timeout(600)]

INSTITUTIONS = [f"inst{i}" for i in range(6)]
PROXIED = INSTITUTIONS[-1]
QUESTION = "Where does the night archive stand?"
DEADLINE_S = 3.0
ASKER_S = 60.0


class Hosts:
    """Everything that runs, and a stub of the aggregator."""

    def __init__(self, stack: ExitStack, folder: Path) -> None:
        self.fabric = Fabric(["agg", *INSTITUTIONS])
        stack.callback(self.fabric.close)
        self.zygote = Zygote(folder / "logs")
        stack.callback(self.zygote.close)
        authority = Authority(folder / "tls")
        sources = {}
        servers = {}
        for name in INSTITUTIONS:
            corpus = folder / name / "corpus.jsonl"
            corpus.parent.mkdir()
            texts = [
                "The night archive stands in the blue hall.",
                f"{name}: rain fell.",
            ]
            lines = [json.dumps({"_id": f"{name}-{i}", "text": text}) for i, text in enumerate(texts)]
            corpus.write_text("\n".join(lines))
            store = folder / name / "store"
            ingest = ["source", "ingest", "--input", corpus, "--store", store, "--embedder", "hashing"]
            done = self.zygote.spawn(f"{name}-ingest", ingest)
            wait_for(lambda done=done: not done.alive, "ingest")
            listen = f"{self.fabric.address(name)}:5001"
            serve = ["source", "serve", "--store", store, "--source-id", name, "--listen", listen]
            servers[name] = self.zygote.spawn(
                name, [*serve, *_tls(authority, name)], netns=self.fabric.netns(name)
            )
            sources[name] = listen
        for server in servers.values():
            server.address()
        self.proxy = Proxy((self.fabric.address(PROXIED), 5001), self.fabric.here)
        stack.callback(self.proxy.close)
        sources[PROXIED] = self.proxy.address
        serve = [
            "aggregator",
            "serve",
            "--listen",
            f"{self.fabric.address('agg')}:6000",
            "--embedder",
            "hashing",
        ]
        serve += [
            "--defense",
            "injection_guard",
            "--state",
            str(folder / "state"),
            "--deadline",
            str(DEADLINE_S),
        ]
        serve += ["--retries", "1", "--breaker-failures", "3", "--breaker-reset", "1", "--quorum", "4"]
        serve += [flag for name, at in sources.items() for flag in ("--source", f"{name}={at}")]
        self.aggregator = self.zygote.spawn(
            "aggregator", [*serve, *_tls(authority, "aggregator")], netns=self.fabric.netns("agg")
        )
        channel = open_channel(self.aggregator.address(), authority.issue("doctor"), "aggregator")
        stack.callback(channel.close)
        self.stub: Any = aggregator_pb2_grpc.AggregatorStub(channel)

    def ask(self) -> Any:
        return self.stub.Ask(to_ask_request(QUESTION, 2), timeout=ASKER_S, wait_for_ready=True)

    def failures(self) -> dict[str, str]:
        return {failure.source_id: failure.kind for failure in self.ask().failures}

    def heal(self) -> None:
        """Wait until everybody replies again: circuits close, connections come back."""
        wait_for(lambda: not self.failures(), "all sources reply again")


def _tls(authority: Authority, name: str) -> list[str]:
    files = authority.issue(name)
    return ["--tls-cert", str(files.cert), "--tls-key", str(files.key), "--tls-ca", str(files.ca)]


@pytest.fixture(scope="module")
def hosts(namespaces: None, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Hosts]:
    with ExitStack() as stack:
        yield Hosts(stack, tmp_path_factory.mktemp("hosts"))


@pytest.fixture(autouse=True)
def _healthy(hosts: Hosts) -> None:
    hosts.heal()


def holders(reply: Any) -> set[str]:
    """Who returned the document that answers the question."""
    return {
        holder.source_id
        for document in reply.documents
        if "blue hall" in document.text
        for holder in document.holders
    }


def check(hosts: Hosts, trouble: AbstractContextManager[None], name: str) -> set[str]:
    """Under `trouble` only `name` fails, all others carry the answer, and later it comes back."""
    with trouble:
        kinds: set[str] = set()
        alone = False

        def seen() -> bool:
            nonlocal alone
            reply = hosts.ask()
            failed = {failure.source_id: failure.kind for failure in reply.failures}
            kinds.update([failed[name]] if name in failed else [])
            # on a busy machine another one may be late now and then
            alone = alone or (set(failed) == {name} and holders(reply) == set(INSTITUTIONS) - {name})
            return alone and "circuit_open" in kinds

        wait_for(seen, f"the circuit of {name} opens")
    hosts.heal()
    return kinds


def test_everybody_answers(hosts: Hosts) -> None:
    wait_for(lambda: holders(hosts.ask()) == set(INSTITUTIONS), "everybody answers")
    assert hosts.ask().answer


def test_a_cut_link(hosts: Hosts) -> None:
    kinds = check(hosts, hosts.fabric.cut("inst0"), "inst0")
    assert kinds <= {"deadline", "unavailable", "circuit_open"}


def test_a_firewall_that_swallows(hosts: Hosts) -> None:
    kinds = check(hosts, hosts.fabric.dropped("inst1"), "inst1")
    assert kinds <= {"deadline", "unavailable", "circuit_open"}


def test_a_slow_link(hosts: Hosts) -> None:
    kinds = check(hosts, hosts.fabric.slowed("inst2", "200bit"), "inst2")
    assert kinds <= {"deadline", "unavailable", "circuit_open"}


@pytest.mark.parametrize("mode", ["delay", "corrupt", "swallow"])
def test_bytes_that_come_late_spoilt_or_not_at_all(hosts: Hosts, mode: Any) -> None:
    class Spoiling:
        def __enter__(self) -> None:
            hosts.proxy.mode, hosts.proxy.delay_s = mode, 2 * DEADLINE_S

        def __exit__(self, *_: object) -> None:
            hosts.proxy.mode = "pass"

    kinds = check(hosts, Spoiling(), PROXIED)
    assert kinds <= {"deadline", "unavailable", "internal", "identity", "circuit_open"}
    assert mode != "corrupt" or hosts.proxy.spoilt > 0


def test_fewer_than_the_quorum_warn(hosts: Hosts) -> None:
    with ExitStack() as stack:
        for name in INSTITUTIONS[:3]:
            stack.enter_context(hosts.fabric.cut(name))

        def only_three() -> bool:
            reply = hosts.ask()
            warned = "only 3 sources replied, fewer than the quorum of 4" in list(reply.warnings)
            return warned and holders(reply) == set(INSTITUTIONS[3:]) and len(reply.failures) == 3

        assert wait_for(only_three, "three sources reply, with a warning")
    hosts.heal()


def test_an_institution_that_dies_and_returns(hosts: Hosts) -> None:
    (server,) = [process for process in hosts.zygote.processes if process.name == "inst3"]
    server.kill()
    wait_for(lambda: hosts.failures() == {"inst3": "unavailable"}, "inst3 is missed")
    log = hosts.aggregator.log.read_text()
    assert "source inst3 gave nothing: unavailable" in log
    folder = hosts.zygote.folder.parent
    tls = folder / "tls"
    hosts.zygote.spawn(
        "inst3",
        [
            *("source", "serve", "--store", folder / "inst3" / "store", "--source-id", "inst3"),
            *("--listen", f"{hosts.fabric.address('inst3')}:5001", "--tls-cert", tls / "inst3.pem"),
            *("--tls-key", tls / "inst3.key", "--tls-ca", tls / "ca.pem"),
        ],
        netns=hosts.fabric.netns("inst3"),
    ).address()
    hosts.heal()
