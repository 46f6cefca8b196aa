from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from core.pipeline import check_contract
from core.records import Candidate, DocumentKey, Query
from core.stage import StageInput, abstain, keep_where
from core.verdict import Action


def _input(n: int) -> StageInput:
    return StageInput(Query("q"), tuple(Candidate(DocumentKey("s", str(i)), f"text {i}") for i in range(n)))


@given(st.lists(st.booleans(), max_size=8))
def test_keep_where_obeys_the_contract(kept: list[bool]) -> None:
    stage_input = _input(len(kept))
    result = keep_where(stage_input, kept, "bad", credibility=[float(k) for k in kept])
    check_contract("stage", stage_input.documents, result)
    assert [d.key.doc_id for d in result.documents] == [str(i) for i, keep in enumerate(kept) if keep]
    assert [v.reason for v in result.verdicts] == ["passed" if keep else "bad" for keep in kept]
    assert [v.credibility for v in result.verdicts] == [float(k) for k in kept]


def test_abstain_keeps_everything() -> None:
    stage_input = _input(3)
    result = abstain(stage_input, "stage_error")
    check_contract("stage", stage_input.documents, result)
    assert result.documents == stage_input.documents
    assert {(v.action, v.credibility) for v in result.verdicts} == {(Action.ABSTAIN, None)}
