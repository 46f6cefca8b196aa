from __future__ import annotations

import random
import zlib
from dataclasses import replace

import pytest

from sim.report.explorer import evenly, explorer, outcome, within
from sim.report.load import load_run
from tests.sim.report.runs_made import write_run
from tests.sim.rounds_made import record


@pytest.fixture
def run(tmp_path):
    return load_run(write_run(tmp_path, n=4))


def test_every_document_comes_back_from_the_compact_form(run):
    packed = explorer(run)
    for one, given in zip(packed["rounds"], run.rounds, strict=True):
        assert one["before"][0] == "blue"
        assert one["edges"] == [list(edge) for edge in given.relations]
        for row, document in zip(one["documents"], given.documents, strict=True):
            assert packed["sources"][row[0]] == document.source_id
            assert packed["texts"][row[2]] == run.texts[document.text_hash]
            assert packed["labels"][row[3]] == document.label
            (stage, action, credibility, reason, evidence) = one["trails"][row[10]][0]
            verdict = document.verdicts[0]
            assert packed["stages"][stage] == verdict.stage
            assert (action, packed["reasons"][reason]) == (verdict.action, verdict.reason)
            assert credibility == pytest.approx(verdict.credibility, abs=1e-3)
            found = {packed["fields"][k]: v for k, v in zip(evidence[::2], evidence[1::2], strict=True)}
            assert found == pytest.approx(dict(verdict.evidence), abs=1e-3)


def test_without_texts_every_place_is_empty(run):
    packed = explorer(replace(run, texts={}))
    assert packed["texts"] == []
    assert {row[2] for one in packed["rounds"] for row in one["documents"]} == {-1}


@pytest.mark.parametrize(
    ("changes", "expected"),
    [
        ({"refused": True, "correct": False}, "refused"),
        ({"attack_success": True}, "poisoned"),
        ({"correct": True}, "right"),
        ({"correct": False, "abstained": True}, "abstained"),
        ({"correct": False}, "wrong"),
        ({"correct": None}, "unjudged"),
    ],
)
def test_outcomes(changes, expected):
    assert outcome(record(**changes)) == expected


def test_rounds_are_thinned_evenly_with_both_ends():
    rounds = [record(index=i) for i in range(100)]
    thin = [one.index for one in evenly(rounds, 10)]
    assert len(thin) == 10
    assert (thin[0], thin[-1]) == (0, 99)
    assert evenly(rounds, 100) == rounds


def test_only_long_texts_are_cut_where_all_are_too_much():
    rng = random.Random(0)
    texts = ["short"] + ["".join(rng.choices("abcdefghijklmnop ", k=4000)) for _ in range(50)]
    assert within(texts, 10**6) is texts
    cut = within(texts, 40_000)
    assert cut[0] == "short"
    assert all(one.startswith(whole[:120]) for one, whole in zip(cut, texts, strict=True))
    assert len(zlib.compress("\n".join(cut).encode())) < 48_000
    assert min(map(len, within(texts, 1)[1:])) == 122
