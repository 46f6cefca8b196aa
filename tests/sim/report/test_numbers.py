from __future__ import annotations

import pytest

from sim.metrics import calibration_error
from sim.report import numbers
from sim.report.load import load_run
from tests.sim.report.runs_made import BAD, SOURCES, write_run
from tests.sim.rounds_made import document, record


@pytest.fixture(scope="module")
def run(tmp_path_factory):
    return load_run(write_run(tmp_path_factory.mktemp("run"), n=8, trials=2))


def test_the_headline_is_the_comparison(run):
    rows = numbers.headline(run)
    assert [row["title"] for row in rows] == ["undefended (MS-RAG)", "SCR"]
    assert rows[0]["asr"]["value"] == 1.0
    assert rows[1]["accuracy"] == run.comparison["rows"][1]["accuracy"]


def test_reliability_has_a_line_a_source_and_a_table_a_trial(run):
    trials = numbers.reliability(run.rounds)
    assert [one["trial"] for one in trials] == [0, 1]
    assert trials[0]["rounds"] == [1, 2, 3, 4]
    assert [s["id"] for s in trials[0]["sources"]] == list(SOURCES)
    assert [s["id"] for s in trials[0]["sources"] if s["malicious"]] == list(BAD)
    assert trials[0]["sources"][-1]["values"] == [0.5, 0.51, 0.52, 0.53]


def test_long_runs_are_thinned_and_many_sources_become_two_means():
    names = {f"s{i:03d}": i / 100 for i in range(100)}
    rounds = [record(index=i, reliability_after=names, malicious_sources=("s000",)) for i in range(700)]
    (one,) = numbers.reliability(rounds)
    assert len(one["rounds"]) <= numbers.MOST_POINTS
    assert (one["rounds"][0], one["rounds"][-1]) == (1, 700)
    assert [s["id"] for s in one["sources"]] == ["mean of 99 benign sources", "mean of 1 malicious sources"]
    assert one["sources"][0]["values"][0] == 0.5
    assert one["sources"][1]["values"][0] == 0.0


def test_a_source_that_came_later_has_no_value_before():
    rounds = [
        record(index=0, reliability_after={"a": 0.5}),
        record(index=1, reliability_after={"a": 0.5, "b": 0.6}),
    ]
    assert numbers.reliability(rounds)[0]["sources"][1]["values"] == [None, 0.6]


def test_confusion_counts_every_document(run):
    table = numbers.confusion(run.rounds)
    assert table["malicious"] == {"kept": 0, "rejected": 8 * 2 * 3}
    assert sum(table["benign"].values()) == 8 * 3 * 3
    assert table["neutral"] == {"kept": 0, "rejected": 0}


def test_calibration_bins_weigh_up_to_the_ece(run):
    bins = numbers.calibration(run.rounds)
    total = sum(bins["count"])
    gap = (
        sum(
            n * abs(c - b) for n, c, b in zip(bins["count"], bins["credibility"], bins["benign"], strict=True)
        )
        / total
    )
    scored = [(d.credibility, d.label == "benign") for r in run.rounds for d in r.documents]
    assert gap == pytest.approx(calibration_error(*zip(*scored, strict=True)), abs=1e-3)
    assert numbers.calibration([record(documents=(document(),))]) is None


def test_latencies_leave_out_what_never_ran(run):
    steps = numbers.latencies(run.rounds)
    assert "stages" not in steps
    assert steps["verify"] == [9.0] * 5
    assert steps["fan_out"] == sorted(steps["fan_out"])


def test_skew_is_a_matrix_of_sources_and_categories(run):
    first, second = numbers.skew(run.shards)
    assert first["categories"] == ["law", "<b>&"]
    assert first["counts"][0] == [4, 5]
    assert (first["malicious"], second["trial"]) == ([True, True, False, False, False], 1)
