"""What a benchmark is asked with and what it returns."""

from __future__ import annotations

import os
import platform
import statistics
import time
from collections.abc import Callable
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, TypeVar

_Size = TypeVar("_Size")


@dataclass(frozen=True, slots=True)
class BenchOptions:
    """`seed` is what every draw descends from; `repeats` None lets the benchmark choose.

    `small`: everything is run, at a size that takes seconds and whose figures mean little.
    """

    seed: int = 0
    repeats: int | None = None
    small: bool = False

    def size(self, full: _Size, small: _Size) -> _Size:
        """`small` where that is asked for, else `full`."""
        return small if self.small else full

    def times(self, full: int, small: int = 2) -> int:
        """How often to measure: `repeats`, or else the benchmark's own number."""
        return self.repeats or self.size(full, small)


@dataclass(frozen=True, slots=True)
class Result:
    """One figure; `baseline` has its unit, and a `ratio` above 1 means better than the baseline."""

    name: str
    value: float
    unit: str
    baseline: float | None = None
    ratio: float | None = None

    def as_json(self) -> dict[str, Any]:
        """The figure without what it does not have."""
        return {key: value for key, value in asdict(self).items() if value is not None}


def median_ms(action: Callable[[], object], repeats: int, warm_up: int = 3) -> float:
    """Median milliseconds of `action` after `warm_up` runs that do not count."""
    for _ in range(warm_up):
        action()
    times = []
    for _ in range(repeats):
        start = time.perf_counter()
        action()
        times.append(1000 * (time.perf_counter() - start))
    return statistics.median(times)


def machine() -> dict[str, Any]:
    """The machine that the figures belong to."""
    return {
        "cpu": _cpu_model(),
        "cores": len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count(),
        "memory_gb": round(os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / 2**30, 1),
        "system": platform.platform(terse=True),
        "python": platform.python_version(),
        "load": round(os.getloadavg()[0], 1),
    }


def _cpu_model() -> str:
    try:
        lines = Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines()
    except OSError:
        lines = []
    named = [line.partition(":")[2].strip() for line in lines if line.startswith("model name")]
    return named[0] if named else platform.processor() or platform.machine()
