"""What orchestration costs a question: both passes with rules, composing stages, storing trust."""

from __future__ import annotations

import statistics
import tempfile
import time
from pathlib import Path

import numpy as np

from aggregator.orchestration import Orchestrator
from aggregator.reputation import Reputation
from core.embedding.base import unit_rows
from core.records import Candidate, DocumentKey, Query
from core.seeding import generator
from core.stage import Resources, StageInput
from defenses.ado.strategist import RuleStrategist, StrategistConfig
from defenses.ado.trust import TrustStore
from sim.bench.result import BenchOptions, Result

DOCUMENTS = 50
DIMENSION = 384
_WORDS = 100  # per document
_USERS = 20


def run(options: BenchOptions) -> list[Result]:
    """`ado_plan`: milliseconds a question, trust on disk; the share of each pass beside it."""
    repeats = options.times(300)
    rng = generator(options.seed, "bench", "ado")
    rounds = [_round(rng, i) for i in range(repeats + 20)]
    with tempfile.TemporaryDirectory() as folder:
        # a filter of the plan is only composed here, so one that needs no other part will do
        strategist = RuleStrategist(StrategistConfig(filter_stage="quotation_guard"))
        orchestrator = Orchestrator(
            Resources(), Reputation(), None, strategist, TrustStore(Path(folder) / "trust.sqlite")
        )
        times = [_ask(orchestrator, given) for given in rounds][20:]
        orchestrator.close()
    total = [sum(parts) for parts in times]
    names = ("ado_plan/before", "ado_plan/after", "ado_plan/trust")
    parts = [
        Result(name, round(statistics.median(part), 4), "ms")
        for name, part in zip(names, zip(*times, strict=True), strict=True)
    ]
    tail = round(float(np.quantile(total, 0.99)), 4)
    return [
        Result("ado_plan", round(statistics.median(total), 4), "ms"),
        Result("ado_plan_p99", tail, "ms"),
        *parts,
    ]


def _ask(orchestrator: Orchestrator, given: StageInput) -> tuple[float, float, float]:
    start = time.perf_counter()
    first = orchestrator.before_retrieval(given.query)
    second, _ = orchestrator.after_retrieval(first, given)
    planned = time.perf_counter()
    orchestrator.conclude(given.query, second)
    stored = time.perf_counter() - planned
    return first.milliseconds, 1000 * (planned - start) - first.milliseconds, 1000 * stored


def _round(rng: np.random.Generator, number: int) -> StageInput:
    vectors = unit_rows(rng.normal(size=(DOCUMENTS, DIMENSION)))
    documents = tuple(
        Candidate(
            DocumentKey(f"source-{i % 10}", f"d{i}"),
            " ".join(f"word{w}" for w in rng.integers(0, 5000, _WORDS)),
            rank=i + 1,
        )
        for i in range(DOCUMENTS)
    )
    words = " ".join(f"word{w}" for w in rng.integers(0, 5000, 10))
    query = Query(f"what is {words}?", f"bench-{number}", f"user-{number % _USERS}")
    return StageInput(query, documents, vectors, unit_rows(rng.normal(size=(1, DIMENSION)))[0])
