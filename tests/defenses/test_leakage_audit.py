"""The leakage audit: long recitation is masked or refused, ordinary answers pass."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from core.records import Candidate, DocumentKey, Query
from defenses.leakage_audit import REFUSAL, WITHHELD, LeakageAuditStage, longest_common_span, recited

DOCUMENT = Candidate(DocumentKey("s", "d"), " ".join(f"word{i}" for i in range(40)))
QUERY = Query("anything")


def test_short_overlap_passes() -> None:
    decision = LeakageAuditStage({"max_span": 10}).run(QUERY, "word1 word2 word3 says he", [DOCUMENT])
    assert decision.reason == ""
    assert decision.text == "word1 word2 word3 says he"


def test_long_run_is_masked_and_the_rest_stays() -> None:
    run = " ".join(f"WORD{i}" for i in range(5, 25))
    decision = LeakageAuditStage({"max_span": 10, "context": 2}).run(
        QUERY, f"He said: {run}. That is all.", [DOCUMENT]
    )
    assert decision.text == f"He said: WORD5 WORD6 {WITHHELD}. That is all."
    assert decision.evidence["longest_span"] == 20
    assert not decision.refused


def test_refuse() -> None:
    stage = LeakageAuditStage({"max_span": 10, "action": "refuse"})
    decision = stage.run(QUERY, DOCUMENT.text, [DOCUMENT])
    assert decision.refused
    assert decision.text == REFUSAL
    mostly = LeakageAuditStage({"max_span": 10, "max_share": 0.5}).run(QUERY, DOCUMENT.text, [DOCUMENT])
    assert mostly.refused


def test_punctuation_and_case_do_not_hide_a_run() -> None:
    run = ", ".join(f"Word{i}" for i in range(15))
    assert recited(run, [DOCUMENT.text], 10) == [(0, 15)]
    assert longest_common_span(run, DOCUMENT.text) == 15


@given(st.text(alphabet="ab \n.", max_size=200), st.text(alphabet="ab \n.", max_size=200))
def test_masked_answer_never_recites_beyond_the_limit(answer: str, document: str) -> None:
    stage = LeakageAuditStage({"max_span": 5, "context": 0})
    decision = stage.run(QUERY, answer, [Candidate(DocumentKey("s", "d"), document)])
    marked = decision.text.replace(WITHHELD, " stopstop ")
    assert longest_common_span(marked, document) <= 5
