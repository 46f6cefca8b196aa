from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from core.errors import DataError
from sim.round_record import RoundRecord, finite
from tests.sim.rounds_made import dropped, record


@given(
    answer=st.text(),
    score=st.floats(0, 1),
    before=st.floats(0, 1),
    evidence=st.dictionaries(
        st.text(min_size=1), st.none() | st.floats(allow_nan=False, allow_infinity=False)
    ),
)
def test_a_line_is_read_back_as_it_was(answer, score, before, evidence):
    made = record(
        answer=answer,
        documents=(dropped("scr", "s", "d", "malicious", score),),
        reliability_before={"s": before},
        stage_errors={name: "x" for name in evidence},
    )
    line = made.to_line()
    assert "\n" not in line
    assert RoundRecord.from_line(line, "here") == made
    json.loads(line)


def test_a_line_names_every_document_with_source_hash_credibility_and_verdicts():
    line = json.loads(record(documents=(dropped("scr", "s1", "d7", "malicious", 0.25),)).to_line())
    (found,) = line["documents"]
    assert found["source_id"] == "s1"
    assert found["text_hash"] == "hash-d7"
    assert found["credibility"] == 0.25
    assert found["verdicts"] == [
        {"stage": "scr", "action": "drop", "credibility": 0.25, "reason": "low", "evidence": {"margin": 0.25}}
    ]


@pytest.mark.parametrize(
    ("old", "new"),
    [('"trial"', '"trail"'), ('"n_gold"', '"extra":1,"n_gold"'), ('"answer":"Ada"', '"answer":1'), ("}", "")],
)
def test_a_line_of_another_form_is_an_error_with_its_place(old, new):
    with pytest.raises(DataError, match=r"^rounds\.jsonl:3: not a round of this version: "):
        RoundRecord.from_line(record().to_line().replace(old, new), "rounds.jsonl:3")


def test_numbers_that_json_cannot_say_become_none():
    assert finite(float("nan")) is None
    assert finite(float("inf")) is None
    assert finite(None) is None
    assert finite(0.5) == 0.5
