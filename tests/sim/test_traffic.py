"""Traffic: reproducible streams, recorded and replayed; trust tells slow-burn attackers from honest users."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import pytest

from aggregator.aggregator import Aggregator
from aggregator.orchestration import Orchestrator
from aggregator.reputation import Reputation
from core.embedding.cache import CachedEmbedder
from core.embedding.hashing import HashingEmbedder
from core.errors import ConfigError, DataError
from core.pipeline import Pipeline
from core.records import Query
from core.seeding import generator
from core.stage import Resources
from defenses.ado.calibrate import DEFAULT, Calibration
from defenses.ado.sentinel import RuleSentinel
from defenses.ado.signals import QUERY_SIGNALS
from defenses.ado.strategist import RuleStrategist, StrategistConfig
from sim.corpora import Corpus, load_corpus
from sim.leakage import ObedientReader
from sim.local_federation import LocalFederation
from sim.probes import make_traffic_probes
from sim.rounds import prepare
from sim.traffic import STREAMS, Event, batch_job, make_traffic, read_traffic, write_traffic

# make_traffic("slow-burn", ..., n=200, seed=0) over an early synthetic world of 300 documents
RECORDED = Path(__file__).parent / "data" / "slow_burn.jsonl"


@pytest.fixture(scope="module")
def world() -> Corpus:
    return load_corpus("synthetic", n_documents=300)


def questions(world: Corpus) -> list[str]:
    return [question.text for question in world.questions]


def probes(world: Corpus) -> list[tuple[str, str]]:
    return make_traffic_probes(world.documents, 60, generator(0, "probes"))


@pytest.mark.parametrize("behavior", sorted(STREAMS))
def test_streams_are_reproducible_and_ordered(behavior: str, world: Corpus) -> None:
    events = make_traffic(behavior, questions(world), probes(world), n=60, benign_users=2, seed=3)
    assert events == make_traffic(behavior, questions(world), probes(world), n=60, benign_users=2, seed=3)
    assert events != make_traffic(behavior, questions(world), probes(world), n=60, benign_users=2, seed=4)
    assert [e.time for e in events] == sorted(e.time for e in events)
    assert Counter(e.user_id for e in events) == {"mallory": 60, "user-0": 60, "user-1": 60}
    assert {e.kind for e in events if e.user_id != "mallory"} == {"benign"}
    assert {e.kind for e in events if e.user_id == "mallory"} >= {"benign", "membership"}


def test_shapes_of_the_streams(world: Corpus) -> None:
    def attack(behavior: str) -> list[Event]:
        events = make_traffic(behavior, questions(world), probes(world), n=200, seed=1)
        return [e for e in events if e.user_id == "mallory" and e.kind != "benign"]

    assert 15 <= len(attack("slow-burn")) <= 50
    assert 80 <= len(attack("multi-vector")) <= 120
    probing = attack("burst")
    assert len(probing) == 20
    assert probing[-1].time - probing[0].time < 1.0


def test_recording_round_trips(tmp_path: Path, world: Corpus) -> None:
    events = make_traffic("burst", questions(world), probes(world), n=30)
    write_traffic(events, tmp_path / "t.jsonl")
    assert read_traffic(tmp_path / "t.jsonl") == events


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("{", r"t.jsonl:2: not an event"),
        ('{"time": 1, "user_id": "a", "text": "x", "kind": "odd"}', "kind must be"),
    ],
)
def test_bad_recordings(tmp_path: Path, line: str, message: str) -> None:
    (tmp_path / "t.jsonl").write_text('{"time": 0, "user_id": "a", "text": "x"}\n' + line + "\n")
    with pytest.raises(DataError, match=message):
        read_traffic(tmp_path / "t.jsonl")
    with pytest.raises(DataError, match="cannot be read"):
        read_traffic(tmp_path / "none.jsonl")


def test_unknown_behavior() -> None:
    with pytest.raises(ConfigError, match="unknown query behavior 'slow'"):
        make_traffic("slow", ["q"], [("leakage", "p")])
    with pytest.raises(ConfigError, match="at least one"):
        make_traffic("burst", [], [])


def test_the_recording_has_two_users_of_one_rate() -> None:
    events = read_traffic(RECORDED)
    assert Counter(event.user_id for event in events) == {"mallory": 200, "user-0": 200}
    probing = [event for event in events if event.kind != "benign"]
    assert {event.user_id for event in probing} == {"mallory"}
    assert 20 <= len(probing) <= 45


def replayed(events: list[Event], world: Corpus) -> Orchestrator:
    """Trust after `events` were asked of an orchestrated federation, on the recording's own clock."""
    embedder = CachedEmbedder(HashingEmbedder(128))
    federation = LocalFederation(prepare(world, embedder), embedder, n_sources=4)
    now = [0.0]
    # ranges of vector signals belong to an embedder; those of the query and of quotation do not
    known = {name: DEFAULT.ranges[name] for name in (*QUERY_SIGNALS, "quoted")}
    orchestrator = Orchestrator(
        Resources(embedder=embedder),
        Reputation(),
        RuleSentinel(Calibration(ranges=known)),
        RuleStrategist(StrategistConfig(filter_stage="quotation_guard")),
        clock=lambda: now[0],
    )
    running = Aggregator(
        None, Pipeline(), ObedientReader(), Reputation(), embedder, orchestrator=orchestrator
    )
    for i, event in enumerate(events):
        now[0] = event.time
        query = Query(event.text, f"t{i}", event.user_id)
        running.ask(event.text, request_id=f"t{i}", user_id=event.user_id, gathered=federation.asking(query))
    return orchestrator


def test_slow_burn_loses_trust_and_the_honest_user_does_not(world: Corpus) -> None:
    orchestrator = replayed(read_traffic(RECORDED), world)
    trust = {record.user_id: record for record in orchestrator.trust.listing()}
    assert trust["mallory"].score < 0.2
    assert trust["user-0"].score > 0.8
    assert trust["mallory"].questions == trust["user-0"].questions == 200


def test_a_batch_job_keeps_its_trust(world: Corpus) -> None:
    orchestrator = replayed(batch_job(questions(world)), world)
    assert orchestrator.trust.score("batch") > 0.8
