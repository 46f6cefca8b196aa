from __future__ import annotations

import io
import json

import numpy as np
import pytest

from core.errors import StoreError
from gnn.beliefs_io import about, from_bytes, to_bytes
from gnn.inference.large import LargeSourceFilter
from gnn.inference.source_filter import FilterConfig, SourceFilter
from tests.gnn.parts import random_evidence

NAMES = ("a", "b", "c", "d", "e")


def judged(names: tuple[str, ...] = NAMES, liars: tuple[int, ...] = (0,), rounds: int = 4):
    source_filter = SourceFilter()
    beliefs = source_filter.start(names)
    rng = np.random.default_rng(1)
    for _ in range(rounds):
        evidence = random_evidence(rng, len(names), list(liars), n=2 * len(names))
        beliefs = source_filter.predict(source_filter.update(beliefs, evidence), evidence)
    return beliefs


def test_round_trip_keeps_every_bit() -> None:
    before = judged()
    after = from_bytes(to_bytes(before))
    assert after.sources == before.sources
    assert after.rounds == before.rounds
    assert np.array_equal(after.log_mass, before.log_mass)
    assert np.array_equal(after.labelings, before.labelings)
    assert np.array_equal(after.levels, before.levels)


@pytest.mark.parametrize("data", [b"", b"nonsense", to_bytes(judged(rounds=1))[:-50]])
def test_what_is_unreadable_is_said_so(data: bytes) -> None:
    with pytest.raises(StoreError, match="unreadable"):
        from_bytes(data)


def test_another_version_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("gnn.beliefs_io._VERSION", 99)
    data = to_bytes(judged(rounds=1))
    monkeypatch.undo()
    with pytest.raises(StoreError, match="version 99"):
        from_bytes(data)


@pytest.mark.parametrize(
    ("version", "levels", "expected"),
    [
        (3, np.array([10.0, 5.0, 0.0]), [2.0, 0.0, 1.0, 0.0]),  # of all sources together: shared out
        (4, np.tile([2.0, 1.0, 0.5], (5, 1)), [2.0, 0.0, 1.0, 0.5]),
    ],
)
def test_what_earlier_versions_believed_about_sources_is_kept(
    version: int, levels: np.ndarray, expected: list[float]
) -> None:
    """They knew three content levels, and no liars who plant nothing."""
    before = judged()
    rows = np.log(before.mass.sum(axis=1, keepdims=True))
    buffer = io.BytesIO()
    header = json.dumps({"version": version, "sources": before.sources, "rounds": before.rounds})
    np.savez(
        buffer, header=np.frombuffer(header.encode(), np.uint8), labelings=before.labelings,
        log_mass=rows + np.log(np.full(18, 1 / 18)), levels=levels,
    )  # fmt: skip
    after = from_bytes(buffer.getvalue())
    assert after.levels.tolist() == [expected] * 5
    assert after.honest == pytest.approx(before.honest)
    assert after.mass.shape == before.mass.shape


def test_the_same_sources_keep_their_joint_beliefs() -> None:
    before = judged()
    assert about(before, NAMES, SourceFilter()) is before


def test_known_sources_keep_their_odds_and_new_ones_start_a_little_suspect() -> None:
    before = judged()
    names = ("a", "b", "c", "d", "e", "f")
    after = about(before, names, SourceFilter())
    assert after.sources == names
    assert after.honest[:5] == pytest.approx(before.honest, abs=0.08)
    assert after.honest[0] < 0.2 < 0.8 < after.honest[1]
    assert after.honest[5] == pytest.approx(1 - FilterConfig().prior_liar, abs=0.1)
    assert tuple(after.expected(FilterConfig())) == pytest.approx(
        tuple(before.expected(FilterConfig())), abs=0.05
    )
    assert after.levels[:5] == pytest.approx(before.levels)
    assert after.levels[5].tolist() == [0, 0, 0, 0]


def test_a_source_that_left_is_forgotten_and_the_order_may_change() -> None:
    before = judged()
    after = about(before, ("e", "a", "c"), SourceFilter())
    assert after.sources == ("e", "a", "c")
    assert np.array_equal(after.levels, before.levels[[4, 0, 2]])
    assert after.honest[1] < 0.3
    assert after.honest[0] > 0.8


def test_from_the_exact_to_the_large_filter() -> None:
    before = judged()
    names = tuple(f"n{i:02d}" for i in range(15)) + NAMES
    after = about(before, names, LargeSourceFilter())
    assert after.honest[names.index("a")] < after.honest[names.index("b")]
    assert after.rounds == before.rounds
