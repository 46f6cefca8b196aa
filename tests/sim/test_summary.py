from __future__ import annotations

from sim.metrics import summarise
from sim.round_record import Failure
from sim.summary import summary_lines
from tests.sim.rounds_made import document, dropped, record


def test_lines_tell_documents_reliability_time_and_what_went_wrong():
    rounds = [
        record(
            attacked=True,
            malicious_sources=("source-01",),
            documents=(document(credibility=0.9), dropped("scr", "source-01", "p", "malicious", 0.1)),
            failures=(Failure("source-02", "deadline"),),
            stage_errors={"scr": "ValueError: x"},
        )
    ]
    assert summary_lines(summarise(rounds, {"seed": 0}, ["scr"], attacked=True)) == [
        "documents: 1 benign, 1 malicious, 0 neutral; AUROC 1.000, calibration error 0.100",
        "reliability at the end: benign 0.600, malicious 0.400",
        "median ms: fan_out 3.0, verify -, stages 1.0, read 2.0, total 7.0",
        "source failures: deadline 1",
        "stage errors: scr 1",
    ]


def test_without_an_attack_what_is_malicious_is_left_out():
    lines = summary_lines(summarise([record(documents=(document(),))], {"seed": 0}, [], attacked=False))
    assert lines[0] == "documents: 1 benign; AUROC -, calibration error -"
    assert lines[1].endswith("malicious -")
    assert len(lines) == 3
