"""`Aggregator.verify`: documents that the caller brings, judged without asking a source."""

from __future__ import annotations

import pytest

from aggregator.reputation import Reputation
from core.errors import WireError
from core.pipeline import PipelineStage
from core.records import RetrievedDocument
from core.stage import StageInput, StageResult
from tests.aggregator.parts import ROUND, BrokenStage, PoisonStage, aggregator, key


def documents() -> list[RetrievedDocument]:
    return [document for reply_ in ROUND.replies for document in reply_.documents]


def test_verify_judges_what_the_caller_brings_and_learns_only_on_request() -> None:
    asked = aggregator(PoisonStage())
    judged = asked.verify("where is the archive", documents())
    assert {d.key for d in judged.documents if not d.kept} == {key("c")}
    assert judged.members[key("b", "d1")] == key("c")
    assert judged.reliability_after == judged.reliability_before == {"a": 0.5, "b": 0.5, "c": 0.5}
    asked.verify("where is the archive", documents(), learn=True)
    assert asked.reputation.reliability(["a"])["a"] == pytest.approx(0.7)


def test_verify_keeps_a_verifiers_hands_off_the_reputation() -> None:
    class Verifier(PoisonStage):
        name = "scr"
        reputation = Reputation(momentum=0.5)

        def run(self, given: StageInput) -> StageResult:
            self.reputation.update({"a": 0.0})
            return super().run(given)

    asked = aggregator(Verifier(), reputation=Verifier.reputation)
    asked.verify("archive", documents())
    assert asked.reputation.reliability(["a"]) == {"a": 0.5}
    asked.verify("archive", documents(), learn=True)
    assert asked.reputation.reliability(["a"]) == {"a": 0.25}


def test_verify_refuses_bad_documents() -> None:
    one = documents()[0]
    with pytest.raises(WireError, match="no documents"):
        aggregator().verify("archive", [])
    with pytest.raises(WireError, match="several documents"):
        aggregator().verify("archive", [one, one])
    with pytest.raises(WireError, match="empty"):
        aggregator().verify("archive", [RetrievedDocument("a", "d", " ")])
    with pytest.raises(WireError, match="source_id"):
        aggregator().verify("archive", [RetrievedDocument("", "d", "text")])


def test_a_required_stage_that_fails_keeps_nothing_in_verify() -> None:
    judged = aggregator(PipelineStage(BrokenStage(), required=True)).verify("archive", documents())
    assert judged.refused
    assert judged.kept == ()
