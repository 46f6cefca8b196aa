"""The benchmark of a node in the small: all its figures, and the check that both sides agree."""

from __future__ import annotations

import pytest

from core.embedding.hashing import HashingEmbedder
from core.errors import ScrError
from sim.bench import node
from sim.bench.result import BenchOptions


@pytest.mark.slow
def test_all_figures_are_there(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(node, "_QUESTIONS", node._QUESTIONS[:5])
    monkeypatch.setattr(
        "core.embedding.open_embedder",
        lambda **given: type("Opened", (), {"inner": HashingEmbedder(384)})(),
    )
    results = {result.name: result for result in node.run(BenchOptions(repeats=5, small=True))}
    assert {
        "node_throughput",
        "node_p99_300",
        "node_p99_400",
        "node_memory_400",
        "ingest_throughput",
    } <= results.keys()
    assert all(result.value >= 0 for result in results.values())  # a small node may round to 0 MB
    assert results["node_throughput"].value > 0
    throughput = results["node_throughput"]
    assert abs(throughput.ratio - throughput.value / throughput.baseline) < 0.01
    assert results["ingest_throughput"].ratio > 0


def test_a_failing_call_ends_the_measurement() -> None:
    def fail(text: str) -> None:
        raise ValueError("no")

    with pytest.raises(ScrError, match="a call failed: no"):
        node.rate(fail, 2, 0.1)
