from __future__ import annotations

import subprocess
import sys
import time

import pytest

from aggregator.fusion import fuse
from aggregator.journey import Journey
from core.pipeline import StageRecord
from core.records import Query, SourceFailure
from core.stage import Hook
from core.verdict import Action, Verdict
from tests.aggregator.parts import key, reply


def journey() -> Journey:
    made = Journey(Query("where", "r1"), 1, ("first", True))
    made.before = {"a": 0.5}
    made.failures = (SourceFailure("gone", "deadline"),)
    made.fused = fuse([reply("a", "one", "two", "one"), reply("b", "one")], made.query, None)
    return made


def record(stage: str, *verdicts: Verdict) -> StageRecord:
    return StageRecord(stage, Hook.POST_RETRIEVAL, verdicts, 1.0)


def test_a_document_keeps_its_worst_score_and_the_reason_of_its_fall() -> None:
    made = journey()
    one, two = key("a", "d0"), key("a", "d1")
    made.stages = [
        record("s1", Verdict(one, Action.KEEP, 0.9, "fine"), Verdict(two, Action.KEEP, 0.8, "fine")),
        record("s2", Verdict(one, Action.KEEP, None, "unsure"), Verdict(two, Action.DROP, 0.3, "odd")),
        record("s3", Verdict(one, Action.ABSTAIN, None, "stage_error")),
    ]
    made.kept = tuple(c for c in made.fused.candidates if c.key == one)
    found = {d.key: (d.kept, d.credibility, d.reason) for d in made.judged()}
    assert found == {one: (True, 0.9, "unsure"), two: (False, 0.3, "odd")}
    assert made.source_means() == pytest.approx({"a": 0.6, "b": 0.9})


def test_what_nobody_judged_says_so() -> None:
    assert {(d.kept, d.credibility, d.reason) for d in journey().judged()} == {(False, None, "not_judged")}
    assert journey().source_means() == {}


def test_every_source_that_took_part_is_named_once() -> None:
    assert journey().sources() == ["a", "b", "gone"]


def test_time_is_booked_by_step() -> None:
    made = journey()

    def fail() -> None:
        with made.timed("read"):
            time.sleep(0.02)
            raise RuntimeError

    with pytest.raises(RuntimeError):
        fail()
    made.book("read", 5.0)
    made.book_elsewhere("fan_out", 1000.0)
    answer = made.answer({"a": 0.6})
    assert answer.latencies["read"] >= 25
    assert answer.latencies["fan_out"] == 1000
    assert 1020 <= answer.latencies["total"] < 2000
    assert (answer.reader, answer.simulated) == ("first", True)
    assert (answer.reliability_before, answer.reliability_after) == ({"a": 0.5}, {"a": 0.6})


def test_a_refused_journey_has_no_abstention() -> None:
    made = journey()
    made.refuse("No.")
    answer = made.answer({})
    assert (answer.text, answer.refused, answer.abstained) == ("No.", True, False)


def test_the_package_imports_lightly() -> None:
    code = (
        "import sys, aggregator\n"
        "assert not {'grpc', 'numpy', 'torch'} & set(sys.modules)\n"
        "from aggregator import Aggregator\n"
        "assert not {'torch', 'ray', 'torch_geometric', 'source_node'} & set(sys.modules)\n"
        "try:\n    aggregator.Agregator\nexcept AttributeError as error:\n    assert 'Agregator' in str(error)\n"
    )
    subprocess.run([sys.executable, "-c", code], check=True)
