from __future__ import annotations

from sim.bench import BENCHMARKS
from sim.bench.result import BenchOptions


def test_every_figure_is_there() -> None:
    results = BENCHMARKS.get("tris")(BenchOptions(seed=1, repeats=2))
    assert [result.name for result in results] == ["tris_l1_l2_50", "tris_l1_50", "tris_l2_50"]
    assert all(0 < result.value < 5000 and result.unit == "ms" for result in results)
