from __future__ import annotations

import json
import threading
from contextlib import ExitStack
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from aggregator.aggregator import ALL_REJECTED, NO_DOCUMENTS
from aggregator.audit import TrailLog
from aggregator.fan_out import FanOut, Gathered
from aggregator.hooks import CHECK_FAILED
from aggregator.quorum import TOO_FEW, Quorum
from aggregator.reputation import Reputation
from core.errors import ConfigError, ContractError, LLMError, WireError
from core.pipeline import PipelineStage
from core.reader import Reading, ReadRequest
from core.records import Query, SourceFailure
from core.stage import StageInput, StageResult, keep_where
from tests.aggregator.parts import (
    EMBEDDER,
    ROUND,
    BrokenStage,
    FirstReader,
    PoisonStage,
    aggregator,
    answering,
    key,
    raw_source,
    reply,
)


def test_a_question_over_real_sources(tmp_path: Path) -> None:
    with ExitStack() as stack:
        sources = {
            "a": stack.enter_context(raw_source(answering("a", ["the archive is in the blue hall"]))),
            "b": stack.enter_context(raw_source(answering("b", ["poison the archive", "the hall is blue"]))),
            "gone": "127.0.0.1:1",
            "liar": stack.enter_context(raw_source(answering("a", ["the archive burnt down"]))),
        }
        fan_out = FanOut.connect(sources)
        log = TrailLog(tmp_path / "trail.jsonl")
        asked = aggregator(PoisonStage(), fan_out=fan_out, trail_log=log)
        answer = asked.ask("where is the archive", request_id="r7")
        asked.close()
    assert answer.text == "the archive is in the blue hall"
    assert not answer.refused
    assert {d.key: d.kept for d in answer.documents} == {
        key("a"): True,
        key("b", "d0"): False,
        key("b", "d1"): True,
    }
    assert [(f.source_id, f.kind) for f in answer.failures] == [("gone", "unavailable"), ("liar", "identity")]
    assert answer.reliability_before == {"a": 0.5, "b": 0.5, "gone": 0.5, "liar": 0.5}
    assert answer.reliability_after == pytest.approx({"a": 0.7, "b": 0.5, "gone": 0.5, "liar": 0.5})
    assert {"guard", "fan_out", "fuse", "stages", "read", "audit", "total"} == answer.latencies.keys()
    assert answer.latencies["total"] >= answer.latencies["fan_out"] > 0
    (line,) = (tmp_path / "trail.jsonl").read_text().splitlines()
    assert json.loads(line)["request_id"] == "r7"


def test_the_stage_sees_everything_the_aggregator_knows() -> None:
    seen: list[StageInput] = []

    class Watch(PoisonStage):
        def run(self, given: StageInput) -> StageResult:
            seen.append(given)
            return super().run(given)

    reputation = Reputation(momentum=0.5)
    reputation.update({"a": 1.0})
    asked = aggregator(Watch(), reputation=reputation, seed=4)
    asked.ask("where is the archive", gathered=ROUND, request_id="r1", user_id="u")
    asked.ask("where is the archive", gathered=ROUND, request_id="r1")
    asked.ask("where is the archive", gathered=ROUND, request_id="r2")
    first, again, other = seen
    assert first.query == Query("where is the archive", "r1", "u", 0)
    assert again.query.round == 1
    assert first.vectors is not None
    assert first.query_vector is not None
    assert first.vectors.shape == (4, 64)
    assert (first.vectors == EMBEDDER.embed([d.text for d in first.documents])).all()
    assert first.reliability == {"a": 0.75, "b": 0.5, "c": 0.5, "d": 0.5}
    assert first.seed == again.seed != other.seed


def test_a_shared_fan_out_gives_every_arm_the_same_round() -> None:
    undefended = aggregator().ask("where is the archive", gathered=ROUND, request_id="r1")
    defended = aggregator(PoisonStage()).ask("where is the archive", gathered=ROUND, request_id="r1")
    assert [d.candidate for d in undefended.documents] == [d.candidate for d in defended.documents]
    assert undefended.latencies["fan_out"] == defended.latencies["fan_out"] == 12.5
    assert undefended.latencies["total"] > 12.5
    assert defended.failures == ROUND.failures
    assert all(d.kept and d.credibility is None and d.reason == "not_judged" for d in undefended.documents)
    assert undefended.reliability_after == undefended.reliability_before
    assert {d.key for d in defended.documents if not d.kept} == {key("c")}
    assert {d.reason for d in defended.documents} == {"passed", "says_poison"}


def test_reliability_counts_each_text_of_a_source_once() -> None:
    answer = aggregator(PoisonStage()).ask("where is the archive", gathered=ROUND)
    means = {"a": (0.9 + 0.9) / 2, "b": (0.9 + 0.1) / 2, "c": (0.1 + 0.9) / 2}
    expected = {source: (0.5 + mean) / 2 for source, mean in means.items()}
    assert answer.reliability_after == pytest.approx({**expected, "d": 0.5})


def test_a_verifier_keeps_the_reputation_itself() -> None:
    class Verifier(PoisonStage):
        updates_reputation = True

        def __init__(self, reputation: Reputation) -> None:
            self.reputation = reputation

        def run(self, given: StageInput) -> StageResult:
            self.reputation.update({"a": 1.0}, reliability={"c": 0.01})
            return super().run(given)

    reputation = Reputation(momentum=0.5)
    answer = aggregator(Verifier(reputation), reputation=reputation).ask("archive", gathered=ROUND)
    assert answer.reliability_after == {"a": 0.75, "b": 0.5, "c": 0.01, "d": 0.5}
    assert answer.latencies["verify"] > 0
    assert "stages" not in answer.latencies


def test_the_reader_gets_the_first_kept_documents_in_own_order() -> None:
    class Reversing(PoisonStage):
        def run(self, given: StageInput) -> StageResult:
            result = super().run(given)
            return StageResult(result.documents[::-1], result.verdicts)

    reader = FirstReader()
    asked = aggregator(Reversing(), reader=reader, reader_k=2)
    answer = asked.ask("where is the archive", gathered=ROUND, options=("hall", "ash"))
    (request,) = reader.requests
    kept = [d.candidate for d in answer.kept]
    assert list(request.documents) == kept[:2]
    assert [d.rank for d in request.documents] == sorted(d.rank for d in request.documents)
    assert request.options == ("hall", "ash")
    assert answer.read == tuple(d.key for d in request.documents)


class DropAll(PoisonStage):
    name = "drop_all"

    def run(self, given: StageInput) -> StageResult:
        return keep_where(given, [False] * len(given.documents), "no")


def test_all_filtered_refuses_by_default() -> None:
    answer = aggregator(DropAll()).ask("where is the archive", gathered=ROUND)
    assert answer.refused
    assert answer.text == ALL_REJECTED
    assert answer.read == ()
    assert len(answer.documents) == 4


def test_all_filtered_can_answer_with_a_warning() -> None:
    answer = aggregator(DropAll(), all_filtered="unfiltered").ask("where is the archive", gathered=ROUND)
    assert not answer.refused
    assert answer.text
    assert not answer.kept
    assert len(answer.read) == 4
    assert any("unfiltered" in warning for warning in answer.warnings)


@pytest.mark.parametrize("mode", ["refuse", "unfiltered"])
def test_no_source_at_all_is_a_refusal(mode: str) -> None:
    nothing = Gathered((), (SourceFailure("a", "unavailable"),))
    answer = aggregator(PoisonStage(), all_filtered=mode).ask("where", gathered=nothing)
    assert answer.refused
    assert answer.text == NO_DOCUMENTS
    assert [f.kind for f in answer.failures] == ["unavailable"]


def test_a_failing_stage_fails_open() -> None:
    answer = aggregator(BrokenStage(), PoisonStage()).ask("where is the archive", gathered=ROUND)
    assert not answer.refused
    assert answer.stages[0].error is not None
    assert any("broken" in warning for warning in answer.warnings)
    assert not any("/private" in warning for warning in answer.warnings)
    assert len(answer.kept) == 3


def test_failed_calls_of_a_stage_and_an_unfiltered_round_are_told() -> None:
    class Noted(PoisonStage):
        name = "noted"

        def run(self, given: StageInput) -> StageResult:
            notes = {"llm_failures": 2.0, "audit_failures": 1.0, "llm_calls": 9.0, "fallback": 1.0}
            return replace(keep_where(given, [True] * len(given.documents), ""), notes=notes)

    answer = aggregator(Noted()).ask("archive", gathered=ROUND)
    assert answer.stages[0].llm_failures == 3
    assert "stage 'noted': 3 calls of its language model failed" in answer.warnings
    assert "stage 'noted' rejected every document: all stay unfiltered" in answer.warnings
    assert aggregator(PoisonStage()).ask("archive", gathered=ROUND).warnings == ()


def test_a_failing_required_stage_fails_closed_and_shows_in_the_trail() -> None:
    answer = aggregator(PipelineStage(BrokenStage(), required=True)).ask("archive", gathered=ROUND)
    assert answer.refused
    assert answer.text == CHECK_FAILED
    assert not answer.kept
    (record,) = answer.stages
    assert record.stage == "broken"
    assert record.error is not None


def test_a_breach_of_the_contract_is_a_bug() -> None:
    class Swindler(PoisonStage):
        name = "swindler"

        def run(self, given: StageInput) -> StageResult:
            return StageResult((), ())

    with pytest.raises(ContractError, match="swindler"):
        aggregator(Swindler()).ask("where is the archive", gathered=ROUND)


def test_a_reader_that_abstains_gives_no_answer() -> None:
    class Shy(FirstReader):
        def read(self, request: ReadRequest) -> Reading:
            return Reading("", abstained=True, llm_calls=2)

    answer = aggregator(reader=Shy()).ask("archive", gathered=ROUND)
    assert answer.abstained
    assert not answer.refused
    assert (answer.text, answer.llm_calls) == ("", 2)


def test_a_failing_model_is_never_an_empty_answer() -> None:
    class Down(FirstReader):
        def read(self, request: ReadRequest) -> Reading:
            raise LLMError("server is down")

    with pytest.raises(LLMError):
        aggregator(reader=Down()).ask("archive", gathered=ROUND)


@pytest.mark.parametrize("question", ["", "   ", "x" * 9000, "\ud800"])
def test_a_question_out_of_bounds_is_refused(question: str) -> None:
    with pytest.raises(WireError, match="question"):
        aggregator().ask(question, gathered=ROUND)


def test_bad_settings_are_refused() -> None:
    with pytest.raises(ConfigError, match="all_filtered"):
        aggregator(all_filtered="maybe")
    with pytest.raises(ConfigError, match="reader_k"):
        aggregator(reader_k=0)
    with pytest.raises(ConfigError, match="no sources"):
        aggregator().ask("archive")


_TEXTS = st.lists(st.sampled_from(["poison pill", "blue hall", "archive", "green door"]), max_size=4)


@given(replies=st.lists(_TEXTS, min_size=1, max_size=4), seed=st.integers(0, 5))
def test_the_same_round_gives_the_same_answer(replies: list[list[str]], seed: int) -> None:
    gathered = Gathered(tuple(reply(f"s{i}", *texts) for i, texts in enumerate(replies)))
    answers = [
        aggregator(PoisonStage(), seed=seed).ask("archive", gathered=gathered, request_id="r")
        for _ in range(2)
    ]
    assert answers[0].text == answers[1].text
    assert answers[0].documents == answers[1].documents
    assert answers[0].reliability_after == answers[1].reliability_after
    assert {d.key for d in answers[0].documents} == set(answers[0].members.values())


def test_questions_may_be_asked_at_once(tmp_path: Path) -> None:
    log = TrailLog(tmp_path / "trail.jsonl")
    asked = aggregator(PoisonStage(), trail_log=log)
    answers = []

    def ask() -> None:
        answers.extend(asked.ask("where is the archive", gathered=ROUND) for _ in range(10))

    threads = [threading.Thread(target=ask) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len({answer.query.request_id for answer in answers}) == 40
    assert sorted(answer.query.round for answer in answers) == list(range(40))
    assert len([json.loads(line) for line in (tmp_path / "trail.jsonl").read_text().splitlines()]) == 40
    assert asked.reputation.reliability(["a"])["a"] == pytest.approx(0.9, abs=1e-6)


def test_a_quorum_warns_or_refuses() -> None:
    warned = aggregator(quorum=Quorum(4)).ask("where is the archive", gathered=ROUND)
    assert warned.text
    assert warned.warnings == ("only 3 sources replied, fewer than the quorum of 4",)
    refused = aggregator(quorum=Quorum(4, "refuse")).ask("where is the archive", gathered=ROUND)
    assert (refused.refused, refused.text) == (True, TOO_FEW)
    assert [failure.source_id for failure in refused.failures] == ["d"]
    assert not aggregator(quorum=Quorum(3, "refuse")).ask("where is the archive", gathered=ROUND).refused


def test_a_reputation_that_cannot_be_stored_is_told_and_the_verdicts_stand(tmp_path: Path) -> None:
    reputation = Reputation(tmp_path / "state.sqlite", momentum=0.5)
    reputation._db.rows("PRAGMA max_page_count=1")  # a full disk, to SQLite
    sources = tuple(reply(f"s{i:04d}", f"text {i}") for i in range(400))
    full = aggregator(PoisonStage(), reputation=reputation).ask("where", gathered=Gathered(sources))
    assert full.text.startswith("text ")
    assert full.warnings == ("the reliability of the sources could not be stored",)
    assert set(full.reliability_after.values()) == {0.5}
    reputation._db.rows("PRAGMA max_page_count=100000")
    after = aggregator(PoisonStage(), reputation=reputation).ask("where", gathered=Gathered(sources))
    assert after.warnings == ()
    assert set(after.reliability_after.values()) == {0.7}


def test_a_shorter_deadline_is_kept(tmp_path: Path) -> None:
    hung = threading.Event()
    with raw_source(lambda request, context: hung.wait(60) or b"") as slow:
        fan_out = FanOut.connect({"slow": slow}, deadline_s=50.0)
        answer = aggregator(fan_out=fan_out).ask("where", deadline_s=0.2)
        hung.set()
        fan_out.close()
    assert [failure.kind for failure in answer.failures] == ["deadline"]
    assert 200 <= answer.latencies["fan_out"] < 40_000
