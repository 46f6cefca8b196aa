from __future__ import annotations

from aggregator.aggregator import Aggregator
from aggregator.answer import Answer
from aggregator.fan_out import Gathered
from aggregator.messages import FAILURES, to_ask_reply, to_verify_reply
from aggregator.reputation import Reputation
from core.bounds import MAX_MESSAGE_BYTES
from core.pipeline import Pipeline
from core.records import SourceFailure
from core.stage import StageInput, StageResult, keep_where
from core.wire import from_key, from_stage_trail
from tests.aggregator.parts import BrokenStage, FirstReader, PoisonStage, key, reply


def answer(gathered: Gathered, *stages: object) -> Answer:
    asked = Aggregator(None, Pipeline(stages), FirstReader(), Reputation(momentum=0.5))
    return asked.ask("where is the archive", gathered=gathered, request_id="r1")


def test_an_answer_travels_whole() -> None:
    failures = tuple(SourceFailure(f"gone-{kind}", kind, "10.0.0.7:5001 refused") for kind in FAILURES)
    given = answer(
        Gathered((reply("a", "blue hall"), reply("b", "blue hall", "poison")), failures), PoisonStage()
    )
    sent = to_ask_reply(given)
    assert (sent.answer, sent.reader, sent.round_id, sent.refused) == ("blue hall", "first", "r1", False)
    assert [(from_key(d.key), d.kept, round(d.credibility, 3)) for d in sent.documents] == [
        (key("a"), True, 0.9),
        (key("b", "d1"), False, 0.1),
    ]
    assert [from_key(holder) for holder in sent.documents[0].holders] == [key("a"), key("b")]
    assert not sent.documents[0].HasField("similarity")
    assert from_stage_trail(sent.trail[0]).verdicts == given.stages[0].verdicts
    assert {f.kind: f.detail for f in sent.failures} == FAILURES
    assert sent.reliability["a"] == given.reliability_after["a"]


def test_what_nobody_scored_has_no_credibility_and_errors_lose_their_detail() -> None:
    sent = to_ask_reply(answer(Gathered((reply("a", "blue hall"),)), BrokenStage()))
    assert not sent.documents[0].HasField("credibility")
    assert sent.trail[0].error == "RuntimeError"
    assert "private" not in str(sent)


def test_huge_documents_cost_their_texts_but_not_the_answer() -> None:
    huge = [reply(f"s{i}", *[f"{i} {j} " + "x" * 250_000 for j in range(5)]) for i in range(8)]
    given = answer(Gathered((*huge, reply("z", "poison"))), PoisonStage())
    sent = to_ask_reply(given)
    assert sent.ByteSize() <= MAX_MESSAGE_BYTES
    assert len(sent.documents) == 41
    assert sent.answer == given.text
    read = {tuple(k) for k in given.read}
    assert all(d.text for d in sent.documents if (d.key.source_id, d.key.doc_id) in read)
    missing = sum(not d.text for d in sent.documents)
    assert missing > 0
    assert f"the texts of {missing} documents" in sent.warnings[-1]
    verified = to_verify_reply(given, limit=200_000)
    assert verified.ByteSize() <= 200_000
    assert len(verified.documents) == 41


def test_evidence_goes_where_texts_are_not_enough() -> None:
    many = Gathered(tuple(reply(f"s{i}", *[f"{i} {j}" for j in range(20)]) for i in range(20)))
    sent = to_ask_reply(answer(many, PoisonStage()), limit=100_000)
    assert sent.ByteSize() <= 100_000
    assert any("evidence" in warning for warning in sent.warnings)
    assert len(sent.trail[0].verdicts) == 400


class Talkative(PoisonStage):
    name = "talkative"

    def run(self, given: StageInput) -> StageResult:
        numbers = [{f"n{i}": 1.0 for i in range(200)}] * len(given.documents)
        return keep_where(given, [False] * len(given.documents), "é" * 500, evidence=numbers)


def test_a_talkative_stage_does_not_cost_the_answer() -> None:
    sent = to_ask_reply(answer(Gathered((reply("a", "blue hall"),)), Talkative()))
    (verdict,) = sent.trail[0].verdicts
    assert len(verdict.evidence) == 64
    assert verdict.reason == "é" * 60
