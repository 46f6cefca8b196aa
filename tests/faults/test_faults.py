"""Over 1,000 random faults in real processes: nothing acknowledged is lost, nothing comes late or unseen.

`make faults`; SCR_FAULTS says how many and SCR_FAULTS_SEED which ones.
"""

from __future__ import annotations

import itertools
import os
import random
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import grpc
import pytest

from core.wire import to_ask_request
from source_node.audit_check import verify
from tests.faults.world import ASKER_S, DEADLINE_S, QUESTION, Node, World, mounting_problem
from tests.zygote import wait_for

pytestmark = [pytest.mark.faults, pytest.mark.timeout(5400)]

FAULTS = int(os.environ.get("SCR_FAULTS", "1000"))
SEED = int(os.environ.get("SCR_FAULTS_SEED", "7"))
_OF_SOURCES = ("kill source", "cut link", "slow link", "corrupt bytes", "disk full at source")
_OF_AGGREGATOR = ("kill aggregator", "disk full at aggregator", "clock step")
_TOLERANCE = 1.1


@pytest.fixture
def world(tmp_path: Path) -> Iterator[World]:
    if (why := mounting_problem(tmp_path / "try")) is not None:
        pytest.skip(why)
    with ExitStack() as stack:
        yield World(stack, tmp_path / "world")


class Chaos:
    """Injects faults round by round and checks after each that it showed and that nothing was lost."""

    def __init__(self, world: World, seed: int) -> None:
        self.world = world
        self.random = random.Random(seed)
        self.counts: Counter[str] = Counter()
        self.kinds: Counter[str] = Counter()
        self.unseen: list[str] = []
        self.steps = 0

    def run(self, faults: int) -> None:
        while self.counts.total() < faults:
            self._healthy()
            targets = self.random.sample(self.world.nodes, self.random.randint(6, 9))
            plan = {node.name: self.random.choice(_OF_SOURCES) for node in targets}
            own = self.random.choice(_OF_AGGREGATOR) if self.random.random() < 0.5 else None
            probes = [(node, *node.probe()) for node in self.world.nodes]
            if own == "kill aggregator":
                self._kill_aggregator()
            for node in targets:
                self._inject(node, plan[node.name])
            if own == "disk full at aggregator":
                self.world.disk.fill()
            elif own == "clock step":
                self.steps += 1
                self.world.step_clock(
                    self.random.uniform(1, 10) * 10 ** self.random.randint(2, 7) * (-1) ** self.steps
                )
            self._watch(plan, own)
            for node, request_id, call in probes:
                node.collect(request_id, call)
            self._heal(targets, plan)
            self.counts.update(plan.values())
            self.counts.update([own] if own else [])

    def _inject(self, node: Node, fault: str) -> None:
        if fault == "kill source":
            node.process.kill()
        elif fault == "cut link":
            node.proxy.mode = "cut"
            node.proxy.reset()
        elif fault == "slow link":
            node.proxy.delay_s = self.random.uniform(1.5, 3.0) * DEADLINE_S
            node.proxy.mode = "delay"
        elif fault == "corrupt bytes":
            node.proxy.mode = "corrupt"
        else:
            node.disk.fill()
            # the last page takes a few records more
            wait_for(lambda: not node.collect(*node.probe()), f"{node.name} notices its full disk")

    def _watch(self, plan: dict[str, str], own: str | None) -> None:
        """Ask until every fault has shown, each in its place; one question is enough for most."""
        world, missing = self.world, dict(plan)
        own_seen = own in (None, "kill aggregator")
        for _ in range(20):
            reply = world.ask()
            if reply is not None:
                for failure in reply.failures:
                    if missing.pop(failure.source_id, None):
                        self.kinds[failure.kind] += 1
                if own == "disk full at aggregator":
                    own_seen = own_seen or any("could not be stored" in warning for warning in reply.warnings)
                elif own == "clock step":
                    own_seen = (
                        world.process.log.read_text().count("the system clock was stepped") >= self.steps
                    )
            if not missing and own_seen:
                return
        self.unseen += [f"{fault} at {name}" for name, fault in missing.items()]
        if not own_seen:
            self.unseen.append(str(own))

    def _kill_aggregator(self) -> None:
        """In the middle of a question or between two; what was acknowledged must be in the file."""
        world = self.world
        busy = self.random.random() < 0.5
        call = None
        if busy:
            call = world.stub.Ask.future(to_ask_request(QUESTION, 2), timeout=ASKER_S)
            time.sleep(self.random.uniform(0.0, 0.08))
        world.process.kill()
        if call is not None:
            try:
                reply = call.result(timeout=2 * ASKER_S)
                world.history.append(dict(reply.reliability))
            except (grpc.RpcError, grpc.FutureTimeoutError):
                world.uncertain = True
        self._not_lost()
        world.start().address()

    def _not_lost(self) -> None:
        if not self.world.history:
            return
        stored, last = self.world.reliability(), self.world.history[-1]
        if (
            self.world.uncertain
        ):  # a round that nobody saw the end of may have been stored, an old one may not
            older = [state for state in self.world.history[-30:-1] if state != last]
            assert all(stored[s] is not None for s in last)
            assert {s: stored[s] for s in last} not in older, "an acknowledged update is lost"
        else:
            assert {s: stored.get(s) for s in last} == last, "an acknowledged update is lost"

    def _heal(self, targets: list[Node], plan: dict[str, str]) -> None:
        self.world.disk.free()
        for node in targets:
            node.disk.free()
            if plan[node.name] == "kill source":
                assert node.charges() >= len(node.acknowledged), "an acknowledged charge is lost"
                node.start()
            if node.proxy.mode != "pass":
                node.proxy.mode = "pass"
                node.proxy.reset()
        for node in targets:
            node.process.address()

    def _healthy(self) -> None:
        def all_reply() -> bool:
            reply = self.world.ask()
            return reply is not None and not reply.failures

        wait_for(all_reply, "all sources reply again")


def test_a_thousand_random_faults(world: World, capsys: pytest.CaptureFixture[str]) -> None:
    chaos = Chaos(world, SEED)
    start = time.monotonic()
    try:
        chaos.run(FAULTS)
    finally:
        report(world, chaos, time.monotonic() - start, capsys)
    assert chaos.unseen == []
    chaos._healthy()
    chaos._not_lost()
    for node in world.nodes:
        assert len(node.acknowledged) <= node.charges() <= node.tried, node.name
        assert set(node.acknowledged) <= node.recorded(), node.name
        verify(node.store / "audit", None)
    trails = world.trails()
    kept = {trail["request_id"] for trail in trails}
    assert set(world.rounds) <= kept, "the trail of an acknowledged answer is lost"
    # each round starts from where the one before ended: a lost update would start from further back
    for before, after in itertools.pairwise(trails):
        for source, value in after["reliability"].items():
            past = before["reliability"].get(source)
            if past is not None and past["before"] != past["after"]:
                assert value["before"] != past["before"], "a round started from a state before the last one"
    assert world.longest_s <= _TOLERANCE * ASKER_S


def fan_outs(trails: list[dict[str, Any]]) -> list[float]:
    """Seconds of every fan-out, the shortest first."""
    return sorted(trail["latencies_ms"].get("fan_out", 0.0) / 1000 for trail in trails)


def report(world: World, chaos: Chaos, seconds: float, capsys: pytest.CaptureFixture[str]) -> None:
    with capsys.disabled():
        print(f"\nseed {SEED}: {chaos.counts.total()} faults in {seconds:.0f} s")
        for name in (*_OF_SOURCES, *_OF_AGGREGATOR):
            print(f"  {name}: {chaos.counts[name]}")
        shown = ", ".join(f"{kind} {count}" for kind, count in chaos.kinds.most_common())
        print(f"  shown as: {shown}; unseen: {len(chaos.unseen)} {chaos.unseen[:5]}")
        probes = sum(len(node.acknowledged) for node in world.nodes)
        print(f"  acknowledged: {len(world.history)} answers, {probes} charges and audit records")
        print(f"  longest answer {world.longest_s:.2f} s of {ASKER_S} s")
        seconds_each = fan_outs(world.trails())
        late = sum(each > _TOLERANCE * DEADLINE_S for each in seconds_each)
        print(f"  fan-outs: {late} of {len(seconds_each)} over {_TOLERANCE * DEADLINE_S:.1f} s", end=", ")
        print(f"the longest {seconds_each[-1]:.2f} s of {DEADLINE_S} s")
