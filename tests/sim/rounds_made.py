"""Round records made by hand for tests."""

from __future__ import annotations

from typing import Any

from sim.round_record import ReturnedDocument, RoundRecord, StageVerdict


def document(
    source: str = "source-00", doc: str = "d0", label: str = "benign", **changes: Any
) -> ReturnedDocument:
    values: dict[str, Any] = {
        "source_id": source,
        "doc_id": doc,
        "text_hash": f"hash-{doc}",
        "label": label,
        "kept": True,
        "rank": 1,
    }
    return ReturnedDocument(**{**values, **changes})


def dropped(
    stage: str, source: str, doc: str, label: str, credibility: float | None = None
) -> ReturnedDocument:
    verdict = StageVerdict(stage, "drop", credibility, "low", {"margin": 0.25})
    return document(source, doc, label, kept=False, credibility=credibility, verdicts=(verdict,))


def record(**changes: Any) -> RoundRecord:
    values: dict[str, Any] = {
        "trial": 0,
        "index": 0,
        "request_id": "t0/attack/q0",
        "query_id": "q0",
        "query": "who?",
        "answers": ("Ada",),
        "target": None,
        "attacked": False,
        "malicious_sources": (),
        "documents": (),
        "n_gold": None,
        "answer": "Ada",
        "abstained": False,
        "refused": False,
        "correct": True,
        "target_given": None,
        "attack_success": None,
        "failures": (),
        "stage_errors": {},
        "warnings": (),
        "reliability_before": {"source-00": 0.5, "source-01": 0.5},
        "reliability_after": {"source-00": 0.6, "source-01": 0.4},
        "latency_ms": {"fan_out": 3.0, "verify": None, "stages": 1.0, "read": 2.0, "total": 7.0},
    }
    return RoundRecord(**{**values, **changes})
