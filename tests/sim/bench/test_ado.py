from __future__ import annotations

from sim.bench import BENCHMARKS
from sim.bench.result import BenchOptions


def test_every_figure_is_there_and_the_parts_make_the_whole() -> None:
    results = {r.name: r for r in BENCHMARKS.get("ado")(BenchOptions(seed=1, repeats=5))}
    parts = ["ado_plan/before", "ado_plan/after", "ado_plan/trust"]
    assert list(results) == ["ado_plan", "ado_plan_p99", *parts]
    assert all(result.unit == "ms" and result.value > 0 for result in results.values())
    assert results["ado_plan"].value <= results["ado_plan_p99"].value
