from __future__ import annotations

import itertools
import json

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sim.metrics import (
    auroc,
    calibration_error,
    document_metrics,
    failure_counts,
    latency,
    reliability_metrics,
    retrieval_metrics,
    source_table,
    stage_metrics,
    summarise,
)
from sim.round_record import Failure
from sim.summary import summary_lines
from tests.integration.check_metrics import problems
from tests.sim.rounds_made import document, dropped, record

scores = st.lists(st.tuples(st.sampled_from([0.0, 0.1, 0.25, 0.5, 0.9, 1.0]), st.booleans()), max_size=25)


@given(scores)
def test_auroc_is_the_share_of_pairs_in_order_ties_half(pairs):
    good = [s for s, benign in pairs if benign]
    bad = [s for s, benign in pairs if not benign]
    found = auroc([s for s, _ in pairs], [b for _, b in pairs])
    if not good or not bad:
        assert found is None
        return
    won = sum(1.0 if g > b else 0.5 if g == b else 0.0 for g, b in itertools.product(good, bad))
    assert found == pytest.approx(won / (len(good) * len(bad)))


@given(scores)
def test_calibration_error_is_the_weighted_gap_of_its_bins(pairs):
    found = calibration_error([s for s, _ in pairs], [b for _, b in pairs])
    if not pairs:
        assert found is None
        return
    total = 0.0
    for index in range(10):
        inside = [(s, b) for s, b in pairs if min(int(s * 10), 9) == index]
        if inside:
            total += abs(sum(s for s, _ in inside) - sum(b for _, b in inside)) / len(pairs)
    assert found == pytest.approx(total)


def test_perfect_and_inverted_scores():
    assert auroc([0.9, 0.8, 0.1], [True, True, False]) == 1.0
    assert auroc([0.1, 0.2, 0.9], [True, True, False]) == 0.0
    assert calibration_error([1.0, 0.0], [True, False]) == 0.0
    assert calibration_error([0.0, 1.0], [True, False]) == 1.0


def attack_round(**changes):
    documents = (
        document("source-00", "g", credibility=0.9, read=2, gold=True, rank=2),
        dropped("scr", "source-00", "b", "benign", 0.4),
        document("source-01", "p1", "malicious", credibility=0.8, read=1),
        dropped("scr", "source-01", "p2", "malicious", 0.1),
        dropped("scr", "source-01", "p3", "malicious", 0.2),
        document("source-01", "n", "neutral", credibility=0.7, read=3, rank=3),
    )
    values = {
        "attacked": True,
        "target": "Bob",
        "target_given": True,
        "correct": False,
        "attack_success": True,
        "malicious_sources": ("source-01",),
        "documents": documents,
        "n_gold": 2,
    }
    return record(**{**values, **changes})


def test_document_rates_by_hand():
    found = document_metrics([attack_round()], attacked=True)
    assert (found["n_benign"], found["n_malicious"], found["n_neutral"]) == (2, 3, 1)
    assert found["tpr"] == 0.5
    assert found["fnr"] == 0.5
    assert found["tnr"] == pytest.approx(2 / 3)
    assert found["fpr"] == pytest.approx(1 / 3)
    assert found["auroc"] == pytest.approx(5 / 6)
    assert found["ece"] == pytest.approx((0.1 + 0.6 + 0.8 + 0.1 + 0.2) / 5)


def test_retrieval_counts_what_the_reader_was_handed():
    found = retrieval_metrics([attack_round(), attack_round(documents=())], attacked=True)
    assert found["recall_at_k"] == pytest.approx((0.5 + 0.0) / 2)
    assert found["mrr"] == pytest.approx((1 / 2 + 0.0) / 2)
    assert found["sr"] == 0.5
    assert found["poisoned_mrr"] == 0.5
    assert found["retrieval_asr"] == 0.5


def test_copies_of_one_gold_document_are_recalled_once():
    copies = tuple(document(f"source-0{i}", "g", read=1, gold=True) for i in range(2))
    assert retrieval_metrics([record(documents=copies, n_gold=2)], attacked=False)["recall_at_k"] == 0.5


def test_without_an_attack_what_is_malicious_does_not_apply():
    found = summarise(
        [record(documents=(document(credibility=0.8, read=1),))], {"seed": 3}, ["scr"], attacked=False
    )
    assert found["asr"] == {"value": None, "ci95": None, "n": 0}
    assert found["target_rate"]["value"] is None
    for key in ("n_malicious", "n_neutral", "tnr", "fpr", "auroc"):
        assert found["documents"][key] is None
    assert found["documents"]["fnr"] == 0.0
    assert found["retrieval"] == dict.fromkeys(["recall_at_k", "mrr", "poisoned_mrr", "sr", "retrieval_asr"])
    assert found["stages"]["scr"]["dropped_malicious"] is None
    assert found["reliability"] == {"benign_mean": pytest.approx(0.5), "malicious_mean": None}
    assert found["latency_ms"]["verify"] == {"p50": None, "p95": None}
    assert problems(json.dumps(found)) == []


def test_the_whole_file_keeps_its_contract_and_counts_trials_and_failures():
    rounds = [
        attack_round(trial=t, query_id=f"q{i}", failures=(Failure("source-02", "unavailable"),) * (i % 2))
        for t in range(2)
        for i in range(3)
    ]
    found = summarise(rounds, {"seed": 1, "attack": "saa"}, ["scr"], attacked=True)
    assert problems(json.dumps(found)) == []
    assert (found["n_queries"], found["n_trials"]) == (3, 2)
    assert found["asr"] == {"value": 1.0, "ci95": [1.0, 1.0], "n": 6}
    assert found["accuracy"]["value"] == 0.0
    assert found["failures"] == {"unavailable": 2}
    assert found["stages"] == {"scr": {"dropped_benign": 6, "dropped_malicious": 12, "errors": 0}}
    assert found["config"] == {"seed": 1, "attack": "saa"}
    assert list(found)[:5] == ["schema", "config", "seed", "n_queries", "n_trials"]


def test_a_quiet_round_of_an_on_off_attacker_counts_as_clean():
    found = summarise(
        [attack_round(), attack_round(query_id="q1", attacked=False, attack_success=None)],
        {"seed": 0},
        [],
        True,
    )
    assert found["asr"]["n"] == 1
    assert found["target_rate"]["n"] == 2


def test_sources_are_those_at_the_end_of_the_last_trial_and_means_cover_all_trials():
    rounds = [
        record(trial=0, index=0, reliability_after={"a": 0.1, "b": 0.1}, malicious_sources=("a",)),
        record(trial=0, index=1, reliability_after={"a": 0.2, "b": 0.8}, malicious_sources=("a",)),
        record(trial=1, index=0, reliability_after={"a": 0.6, "b": 0.0}, malicious_sources=("b",)),
    ]
    assert source_table(rounds) == [
        {"id": "a", "malicious": False, "reliability": 0.6},
        {"id": "b", "malicious": True, "reliability": 0.0},
    ]
    found = reliability_metrics(rounds)
    assert found["benign_mean"] == pytest.approx(0.7)
    assert found["malicious_mean"] == pytest.approx(0.1)


def test_failed_calls_of_a_model_are_counted_beside_failed_sources():
    rounds = [
        record(llm_failures={"tris": 2, "scr": 1}, failures=(Failure("source-01", "deadline"),)),
        record(llm_failures={"tris": 1}),
    ]
    assert failure_counts(rounds) == {"deadline": 1, "llm": 4}
    assert failure_counts([record()]) == {}
    lines = summary_lines(summarise(rounds, {"seed": 0}, ["tris"], attacked=False))
    assert lines[-2:] == ["source failures: deadline 1", "calls of a language model that failed: 4"]


def test_stage_errors_are_counted_per_stage():
    rounds = [record(stage_errors={"tris": "RuntimeError: x"}), record()]
    found = stage_metrics(rounds, ["scr", "tris"], attacked=True)
    assert found["tris"]["errors"] == 1
    assert found["scr"] == {"dropped_benign": 0, "dropped_malicious": 0, "errors": 0}


@given(st.lists(st.none() | st.floats(0, 1e6), max_size=20))
def test_latency_skips_what_did_not_happen(values):
    known = [v for v in values if v is not None]
    found = latency(values)
    assert (found["p50"] is None) == (not known)
    if known:
        assert found["p50"] == pytest.approx(np.median(known))
        assert found["p50"] <= found["p95"] <= max(known)


@given(st.permutations(range(4)))
def test_rates_do_not_depend_on_the_order_of_rounds(order):
    rounds = [
        attack_round(query_id="a"),
        record(query_id="b", documents=(document(),)),
        attack_round(query_id="c", correct=True),
        record(query_id="d"),
    ]
    shuffled = [rounds[i] for i in order]
    assert document_metrics(shuffled, True) == pytest.approx(document_metrics(rounds, True))
    assert retrieval_metrics(shuffled, True) == pytest.approx(retrieval_metrics(rounds, True))
