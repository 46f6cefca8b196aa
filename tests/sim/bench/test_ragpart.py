from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from core.embedding.hashing import HashingEmbedder
from core.errors import ScrError
from sim.bench import ragpart
from sim.bench.result import BenchOptions


def small(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """200 documents of the synthetic world, hashed, in place of 10,000 embedded ones."""
    monkeypatch.setenv("SCR_DATA", str(tmp_path))
    monkeypatch.setattr(ragpart, "open_embedder", lambda: HashingEmbedder(64))
    monkeypatch.setattr(ragpart, "DOCUMENTS", 200)
    monkeypatch.setattr(ragpart, "LARGE", 400)


def test_ours_beside_the_literal_databases(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    small(monkeypatch, tmp_path)
    results = {r.name: r for r in ragpart.run(BenchOptions(seed=1, repeats=2))}
    time, memory = results["ragpart_n10_k5_200"], results["ragpart_memory_n10_k5_200"]
    assert time.unit == "ms"
    assert time.baseline is not None
    assert time.ratio == pytest.approx(time.baseline / time.value, rel=0.2)
    assert memory.unit == "MB"
    assert memory.ratio == pytest.approx(25.2)  # C(10,5) / 10
    assert results["ragpart_score_gap_n10_k5_200"].value <= ragpart.TOLERANCE
    assert {"ragpart_n10_k5_400", "ragpart_random_n10_k5_200"} <= results.keys()


def test_a_difference_beyond_rounding_ends_the_benchmark(monkeypatch: pytest.MonkeyPatch) -> None:
    class Other:
        def lists(self, query: np.ndarray, p: int) -> tuple[np.ndarray, np.ndarray]:
            return np.zeros((1, 1), dtype=int), np.full((1, 1), float(query[0]))

    with pytest.raises(ScrError, match=r"differ by 0\.5 in score"):
        ragpart._agreement(Other(), _Shifted(), [np.ones(3, np.float32)])  # type: ignore[arg-type]


class _Shifted:
    def lists(self, query: np.ndarray, p: int) -> tuple[np.ndarray, np.ndarray]:
        return np.zeros((1, 1), dtype=int), np.full((1, 1), float(query[0]) - 0.5)
