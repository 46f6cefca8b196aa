"""An attacker among the users of a trial: who asks when, what is recorded, how it goes on."""

from __future__ import annotations

from pathlib import Path

import pytest

from aggregator.fan_out import Gathered
from core.embedding.cache import CachedEmbedder
from core.embedding.hashing import HashingEmbedder
from core.records import Query
from sim.arms import ArmRun, plan_arms
from sim.behaviors import open_behavior, stream_of
from sim.config import RunConfig
from sim.corpora import Corpus, load_corpus
from sim.leakage import ObedientReader
from sim.local_federation import LocalFederation
from sim.query_streams import ATTACKER, HONEST, QueryStream, record_probe, summarise_traffic
from sim.rounds import prepare
from sim.traffic import STREAMS

EMBEDDER = CachedEmbedder(HashingEmbedder(128))
# ranges of vector signals are for another embedder: without the clustering filter they do no harm
CONFIG = RunConfig(
    defense=["ado"],
    stages={"ado": {"options": {"plan": {"filter_stage": "quotation_guard"}}}},
    behavior="multi-vector",
)


@pytest.fixture(scope="module")
def world() -> Corpus:
    return load_corpus("synthetic", n_documents=200)


def arm_run(folder: Path) -> ArmRun:
    return ArmRun(plan_arms(CONFIG, False)[0], CONFIG, EMBEDDER, ObedientReader(), None, None, 0, folder)


@pytest.mark.parametrize("behavior", sorted(STREAMS))
def test_the_attacker_asks_as_often_as_the_honest_user(behavior: str, world: Corpus) -> None:
    assert stream_of(open_behavior(behavior)) == behavior
    stream = QueryStream(behavior, world, 30, seed=1)
    again = QueryStream(behavior, world, 30, seed=1)
    events = [event for case in range(30) for event in stream.before(case)]
    assert events == [event for case in range(30) for event in again.before(case)]
    assert len(events) == 30
    assert {event.user_id for event in events} == {ATTACKER}
    times = [stream.time(case) for case in range(30)]
    assert times == sorted(times)
    for case in range(29):
        assert all(event.time <= times[case] for event in stream.before(case))


def test_sources_behave_steadily_under_a_stream() -> None:
    behavior = open_behavior("slow-burn")
    assert behavior.active(0)
    assert behavior.name("s", 7) == "s"
    assert stream_of(open_behavior("sleeper:3")) == ""


def test_probes_are_recorded_summed_up_and_cost_trust(world: Corpus, tmp_path: Path) -> None:
    federation = LocalFederation(prepare(world, EMBEDDER), EMBEDDER, n_sources=3)
    stream = QueryStream("multi-vector", world, 12, seed=0)
    run = arm_run(tmp_path)
    records = []
    for case in range(12):
        for event in stream.before(case):
            run.now = event.time
            gather = federation.asking(Query(event.text, f"p{case}"))
            answer = run.ask(event.text, f"p{case}", (), gather, ATTACKER)
            records.append(record_probe(event, answer, run.trust().get(ATTACKER)))
    kinds = {record.kind for record in records}
    assert kinds > {"benign"}
    probes = [record for record in records if record.kind == "membership"]
    assert all(record.privacy == "laplace" or record.refused for record in probes)
    assert records[-1].trust is not None
    assert records[-1].trust < 0.5

    class Round:
        def __init__(self, probes, trust):
            self.probes, self.trust = probes, trust

    summary = summarise_traffic("multi-vector", [Round(tuple(records), run.trust())])
    assert summary["schema"] == 1
    assert sum(kind["n"] for kind in summary["attacker"].values()) == len(records)
    assert summary["attacker"]["benign"]["refused"] == 0.0
    assert summary["trust"] == run.trust()

    later = arm_run(tmp_path)
    asked = [(e.time, e.user_id, e.text) for case in range(12) for e in stream.before(case)]
    later.resume_users(run.trust(), [*asked, (0.0, HONEST, "who")])
    assert later.trust() == pytest.approx(run.trust())
    run.close()
    later.close()


def test_policies_stand_among_the_defenses(tmp_path: Path) -> None:
    given = Gathered(())
    answer = arm_run(tmp_path).ask("who runs", "t0/clean/q", (), given)
    assert answer.orchestration["passes"][0]["pass"] == "before"
    targeted = RunConfig(defense=["targeted"], attack="saa")
    from sim.arms import stage_specs

    assert stage_specs(targeted)[0].options == {"against": ("poisoning",)}
    quiet = RunConfig(defense=["targeted"])
    assert stage_specs(quiet)[0].options == {"against": ("membership",)}
