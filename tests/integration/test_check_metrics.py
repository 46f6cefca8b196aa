from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import pytest

from tests.integration.check_metrics import problems

RATE = {"value": 0.5, "ci95": [0.4, 0.6], "n": 4}
NONE = {"value": None, "ci95": None, "n": 0}
QUANTILES = {"p50": 1.0, "p95": 2.0}


def good() -> dict[str, Any]:
    return {
        "schema": 1,
        "config": {},
        "seed": 0,
        "n_queries": 4,
        "n_trials": 1,
        "asr": dict(NONE),
        "accuracy": dict(RATE),
        "target_rate": dict(RATE),
        "documents": {
            "n_benign": 4,
            "n_malicious": None,
            "n_neutral": 0,
            "tpr": 0.75,
            "tnr": None,
            "fpr": None,
            "fnr": 0.25,
            "auroc": None,
            "ece": 0.1,
        },
        "retrieval": dict.fromkeys(["recall_at_k", "mrr", "poisoned_mrr", "sr", "retrieval_asr"]),
        "sources": [{"id": "s0", "malicious": False, "reliability": 0.5}],
        "reliability": {"benign_mean": 0.5, "malicious_mean": None},
        "latency_ms": dict.fromkeys(["fan_out", "verify", "stages", "read", "total"], QUANTILES),
        "stages": {"scr": {"dropped_benign": 0, "dropped_malicious": 1, "errors": 0}},
        "failures": {"deadline": 1},
    }


def test_a_good_file_passes() -> None:
    assert problems(json.dumps(good())) == []


@pytest.mark.parametrize(
    ("spoil", "message"),
    [
        (lambda m: m.pop("seed"), "seed: Field required"),
        (lambda m: m.update(extra=1), "extra: Extra inputs are not permitted"),
        (lambda m: m["documents"].update(tpr=0.9), "documents: Value error, 0.9 + 0.25 is not 1"),
        (lambda m: m["documents"].update(tnr=0.9), "documents: Value error, a rate and its complement"),
        (lambda m: m["asr"].update(value=float("nan")), "asr.value: Input should be a finite number"),
        (lambda m: m["accuracy"].update(value=0.9), "accuracy: Value error, 0.9 is outside its interval"),
        (lambda m: m["latency_ms"].pop("read"), "latency_ms.read: Field required"),
    ],
)
def test_a_breach_is_named(spoil: Callable[[dict[str, Any]], object], message: str) -> None:
    metrics = json.loads(json.dumps(good()))
    spoil(metrics)
    (line,) = problems(json.dumps(metrics))
    assert line.startswith(message)
