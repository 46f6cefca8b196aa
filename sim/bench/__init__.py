"""Benchmarks by name; a benchmark is a function of `BenchOptions` that returns `Result`s.

Figures that are compared come from one run on one machine: a ratio is measured against its baseline
there and then, and above 1 means better than the baseline.
"""

from __future__ import annotations

from core.registry import Registry

BENCHMARKS = Registry(
    "benchmark",
    "securecollarag.benchmarks",
    {
        "ado": "sim.bench.ado:run",
        "fan-out": "sim.bench.fan_out:run",
        "node": "sim.bench.node:run",
        "ragmask": "sim.bench.ragmask:run",
        "ragpart": "sim.bench.ragpart:run",
        "tris": "sim.bench.tris:run",
        "verify": "sim.bench.verify:run",
    },
    extra="sim",
)
