"""Folders of runs and sweeps made by hand, of any size, without a simulation."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np

from core.config import dump
from sim.arms import Arm
from sim.comparison import compare
from sim.config import RunConfig
from sim.metrics import summarise
from sim.round_record import ReturnedDocument, RoundRecord, StageVerdict
from sim.texts import TextLog, text_hash

SOURCES = tuple(f"source-{i:02d}" for i in range(5))
BAD = SOURCES[:2]
EVIDENCE = ("content", "verification", "holder_honest", "tampering", "agree", "conflict")


def write_run(
    root: Path, n: int = 6, trials: int = 1, per_source: int = 3, words: int = 12, texts: bool = True
) -> Path:
    """A run of `n` rounds, with all that a real one leaves; equal arguments give equal files."""
    rng = np.random.default_rng(0)
    root.mkdir(parents=True, exist_ok=True)
    (root / "arms").mkdir(exist_ok=True)
    config = RunConfig(attack="poisonedrag", sources=5, seed=3, embedder="hashing", trials=trials)
    log = TextLog(root / "texts.jsonl")
    rounds = []
    for i in range(n):
        record, told = _round(i * trials // n, i % max(1, n // trials), rng, per_source, words)
        rounds.append(record)
        if texts:
            log.add(told)
    undefended = [_changed(record, "blue", False) for record in rounds]
    _lines(root / "rounds.jsonl", rounds)
    _lines(root / "arms" / "ms_rag.jsonl", undefended)
    arms = [
        (Arm("ms_rag", "undefended (MS-RAG)", True), undefended),
        (Arm("defended", "SCR", True, defended=True), rounds),
    ]
    table = compare(
        arms, seed=0, reader="extractive", simulated=True, forced_choice=False, dataset="made", synthetic=True
    )
    (root / "comparison.json").write_text(json.dumps(table.as_json()))
    (root / "metrics.json").write_text(json.dumps(summarise(rounds, config.as_json(), ["scr"], True)))
    (root / "config.yaml").write_text(dump(config))
    shards = [
        {
            "trial": trial, "alpha": 0.5, "replication": 1, "mean_divergence": 0.4,
            "sources": [
                {"id": name, "malicious": name in BAD, "documents": 9, "categories": {"law": 4 + j, "<b>&": 5 - j}}
                for j, name in enumerate(SOURCES)
            ],
        }
        for trial in range(trials)
    ]  # fmt: skip
    (root / "shards.json").write_text(json.dumps({"schema": 1, "trials": shards}))
    return root


def write_sweep(root: Path) -> Path:
    root.mkdir(parents=True, exist_ok=True)
    head = "attack,malicious,defense,dataset,n_queries,asr,asr_low,asr_high,asr_n,accuracy,accuracy_low,accuracy_high,tpr"
    rows = [
        f"saa,{share},{defense},nq,50,{rate},{rate - 0.1},{rate + 0.1},50,{1 - rate},0.2,0.9,{tpr}"
        for share in (0.2, 0.4)
        for defense, rate, tpr in (("none", 0.8, ""), ("scr", 0.1, 0.97))
    ]
    (root / "table.csv").write_text("\n".join([head, *rows]) + "\n")
    return root


def _round(
    trial: int, index: int, rng: np.random.Generator, per_source: int, words: int
) -> tuple[RoundRecord, list[str]]:
    documents, texts = [], []
    for source in SOURCES:
        for k in range(per_source):
            bad = source in BAD
            body = " ".join(f"w{v}" for v in rng.integers(0, 4000, words))
            text = f"{'blue' if bad else 'red'} {trial}/{index}/{k} <script>alert(1)</script> {body}"
            texts.append(text)
            score = float(rng.uniform(0, 0.4) if bad else rng.uniform(0.45, 1))
            evidence = dict(zip(EVIDENCE, rng.normal(size=6).round(4).tolist(), strict=True))
            action = "keep" if score >= 0.5 else "drop"
            documents.append(
                ReturnedDocument(
                    source_id=source, doc_id=f"d{trial}-{index}-{k}", text_hash=text_hash(text),
                    label="malicious" if bad else "benign", kept=score >= 0.5, rank=k + 1, similarity=0.5,
                    credibility=score, read=k + 1 if score >= 0.5 else None,
                    verdicts=(StageVerdict("scr", action, score, "passed" if score >= 0.5 else "not_credible", evidence),),
                )
            )  # fmt: skip
    last = len(documents) - 1
    before, after = max(0.0, 0.5 - 0.01 * index), min(1.0, 0.5 + 0.01 * index)
    record = RoundRecord(
        trial=trial, index=index, request_id=f"t{trial}/attack/q{index}", query_id=f"q{index}",
        query=f"What colour is gate {index}?", answers=("red",), target="blue", attacked=True, malicious_sources=BAD,
        documents=tuple(documents), n_gold=1, answer="red", abstained=False, refused=False, correct=True,
        target_given=False, attack_success=False, failures=(), stage_errors={}, warnings=(),
        reliability_before=dict.fromkeys(SOURCES, 0.5),
        reliability_after={s: before if s in BAD else after for s in SOURCES},
        latency_ms={"fan_out": 3.0 + index % 7, "verify": 9.0, "stages": None, "read": 1.0, "total": 14.0},
        relations=((0, last, 0.0, 0.8), (last - 1, last, 0.7, 0.1)),
    )  # fmt: skip
    return record, texts


def _changed(record: RoundRecord, answer: str, correct: bool) -> RoundRecord:
    from dataclasses import replace

    return replace(
        record, answer=answer, correct=correct, target_given=not correct, attack_success=not correct
    )


def _lines(path: Path, rounds: list[RoundRecord]) -> None:
    path.write_text("".join(record.to_line() + "\n" for record in rounds), encoding="utf-8")
