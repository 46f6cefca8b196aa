from __future__ import annotations

from collections.abc import Sequence

from aggregator.aggregator import Aggregator
from aggregator.fan_out import Gathered
from aggregator.hooks import CHECK_FAILED, QUERY_REFUSED
from aggregator.reputation import Reputation
from aggregator.stages import Auditor, Guard
from core.pipeline import Pipeline
from core.records import Candidate, Query
from core.stage import AnswerDecision, Hook, QueryDecision
from tests.aggregator.parts import FirstReader, PoisonStage, reply

ROUND = Gathered((reply("a", "the archive is in the blue hall"), reply("b", "poison the archive")))


def aggregator(*stages: object, reader: FirstReader | None = None, **settings: object) -> Aggregator:
    return Aggregator(None, Pipeline(stages), reader or FirstReader(), Reputation(), **settings)


class Refuser:
    name = "refuser"

    def run(self, query: Query) -> QueryDecision:
        return QueryDecision(query, refused=True, reason="asks_for_secrets")


class Rewriter:
    name = "rewriter"

    def run(self, query: Query) -> QueryDecision:
        return QueryDecision(Query("blue hall"))


class BrokenGuard:
    name = "broken_guard"

    def run(self, query: Query) -> QueryDecision:
        raise RuntimeError("no")


def test_a_guard_may_refuse_before_any_source_is_asked() -> None:
    answer = aggregator(guards=[Guard(Refuser())]).ask("the keys?")  # no sources: asking them would raise
    assert answer.refused
    assert answer.text == QUERY_REFUSED
    assert answer.warnings == ("refuser: asks_for_secrets",)
    assert answer.documents == ()


def test_a_guard_may_rewrite_the_text_and_nothing_else() -> None:
    reader = FirstReader()
    asked = aggregator(guards=[Guard(Rewriter())], reader=reader)
    answer = asked.ask("where is the archive", gathered=ROUND, request_id="r1")
    assert (answer.query.text, answer.query.request_id) == ("blue hall", "r1")
    assert reader.requests[0].question == "blue hall"


def test_a_broken_guard_fails_open_or_closed() -> None:
    open_ = aggregator(guards=[Guard(BrokenGuard())]).ask("archive", gathered=ROUND)
    assert not open_.refused
    assert open_.stages[0].hook is Hook.PRE_RETRIEVAL
    closed = aggregator(guards=[Guard(BrokenGuard(), required=True)]).ask("archive", gathered=ROUND)
    assert closed.refused
    assert closed.text == CHECK_FAILED


class Masking:
    name = "masking"

    def run(self, query: Query, answer: str, documents: Sequence[Candidate]) -> AnswerDecision:
        return AnswerDecision(answer.replace("blue", "****"), reason="masked" if "blue" in answer else "")


class Silencing:
    name = "silencing"

    def run(self, query: Query, answer: str, documents: Sequence[Candidate]) -> AnswerDecision:
        return AnswerDecision("Not for you.", refused=True, reason="leak")


def test_auditors_change_or_refuse_the_answer() -> None:
    masked = aggregator(PoisonStage(), auditors=[Auditor(Masking())]).ask("archive hall", gathered=ROUND)
    assert masked.text == "the archive is in the **** hall"
    assert "masking: masked" in masked.warnings
    refused = aggregator(auditors=[Auditor(Silencing()), Auditor(Masking())]).ask("archive", gathered=ROUND)
    assert refused.refused
    assert refused.text == "Not for you."


class BrokenAuditor:
    name = "broken_auditor"

    def run(self, query: Query, answer: str, documents: Sequence[Candidate]) -> AnswerDecision:
        raise RuntimeError("no")


def test_a_broken_auditor_fails_open_or_closed() -> None:
    open_ = aggregator(PoisonStage(), auditors=[Auditor(BrokenAuditor())]).ask("archive", gathered=ROUND)
    assert open_.text == "the archive is in the blue hall"
    assert open_.stages[-1].hook is Hook.POST_GENERATION
    closed = aggregator(auditors=[Auditor(BrokenAuditor(), required=True)]).ask("archive", gathered=ROUND)
    assert closed.refused
    assert closed.text == CHECK_FAILED
