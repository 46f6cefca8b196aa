from __future__ import annotations

import math
import multiprocessing
import sqlite3
import subprocess
import sys
import threading
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from aggregator.reputation import Reputation
from core.errors import ConfigError, StoreError

_UNIT = st.floats(0.0, 1.0)


@given(start=_UNIT, momentum=st.floats(0.0, 0.999), means=st.lists(_UNIT, max_size=25), limit=_UNIT)
def test_lemma_3_bounds_the_distance_to_any_limit(
    start: float, momentum: float, means: list[float], limit: float
) -> None:
    """SCR Lemma 3, Eq. 35, for every sequence of mean credibilities and every supposed limit."""
    reputation = Reputation(start=start, momentum=momentum)
    for mean in means:
        reputation.update({"s": mean})
    t = len(means)
    bound = momentum**t * abs(start - limit) + (1 - momentum) * sum(
        momentum**u * abs(means[t - 1 - u] - limit) for u in range(t)
    )
    assert abs(reputation.reliability(["s"])["s"] - limit) <= bound + 1e-9
    reputation.close()


@given(start=_UNIT, momentum=st.floats(0.0, 0.999), means=st.lists(_UNIT, min_size=1, max_size=25))
def test_smoothing_stays_within_what_went_in(start: float, momentum: float, means: list[float]) -> None:
    reputation = Reputation(start=start, momentum=momentum)
    values = [start]
    for mean in means:
        reputation.update({"s": mean})
        values.append(reputation.smoothed(["s"])["s"])
        assert values[-1] == pytest.approx(momentum * values[-2] + (1 - momentum) * mean)
        assert reputation.previous(["s"])["s"] == values[-2]
    assert min([start, *means]) - 1e-9 <= values[-1] <= max([start, *means]) + 1e-9
    reputation.close()


def test_constant_credibility_is_reached() -> None:
    reputation = Reputation(start=0.5, momentum=0.9)
    for _ in range(100):
        reputation.update({"honest": 0.97, "liar": 0.05})
    assert reputation.reliability(["honest", "liar", "new"]) == pytest.approx(
        {"honest": 0.97, "liar": 0.05, "new": 0.5}, abs=1e-3
    )


def test_the_verifiers_view_wins_while_it_is_given() -> None:
    reputation = Reputation(momentum=0.5)
    reputation.update({"a": 1.0}, reliability={"a": 0.2, "b": 0.9})
    assert reputation.reliability(["a", "b"]) == {"a": 0.2, "b": 0.9}
    assert reputation.smoothed(["a", "b"]) == {"a": 0.75, "b": 0.5}
    reputation.update({"a": 1.0})
    assert reputation.reliability(["a", "b"]) == {"a": 0.875, "b": 0.9}


def test_an_absent_source_keeps_its_value() -> None:
    reputation = Reputation(momentum=0.5)
    reputation.update({"a": 1.0, "b": 0.0})
    reputation.update({"a": 1.0})
    assert reputation.smoothed(["a", "b"]) == {"a": 0.875, "b": 0.25}
    assert reputation.previous(["a", "b"]) == {"a": 0.75, "b": 0.5}


@pytest.mark.parametrize("bad", [math.nan, math.inf, -0.1, 1.1])
def test_a_bad_number_changes_nothing(bad: float) -> None:
    reputation = Reputation()
    with pytest.raises(ValueError, match="outside"):
        reputation.update({"a": 1.0, "b": bad})
    with pytest.raises(ValueError, match="outside"):
        reputation.update({"a": 1.0}, reliability={"b": bad}, states={"x": b"1"})
    assert reputation.smoothed(["a", "b"]) == {"a": 0.5, "b": 0.5}
    assert reputation.state("x") is None


def test_it_survives_closing(tmp_path: Path) -> None:
    path = tmp_path / "state" / "reputation.sqlite"
    first = Reputation(path, momentum=0.5)
    first.update({"a": 1.0}, reliability={"b": 0.25}, states={"filter": b"\x00\xff"})
    first.close()
    second = Reputation(path, momentum=0.5)
    assert second.reliability(["a", "b"]) == {"a": 0.75, "b": 0.25}
    assert second.state("filter") == b"\x00\xff"
    assert second.state("other") is None
    second.close()


def test_a_killed_process_leaves_whole_rounds(tmp_path: Path) -> None:
    path = tmp_path / "reputation.sqlite"
    code = (
        "import os, sys; from pathlib import Path; from aggregator.reputation import Reputation\n"
        "r = Reputation(Path(sys.argv[1]), momentum=0.5)\n"
        "r.update({'a': 1.0}, states={'rounds': b'1'})\n"
        "guard = r.exclusive(); guard.__enter__()\n"
        "r.update({'a': 1.0}, states={'rounds': b'2'})\n"
        "os._exit(9)\n"
    )
    done = subprocess.run([sys.executable, "-c", code, str(path)], check=False)
    assert done.returncode == 9
    after = Reputation(path, momentum=0.5)
    assert after.smoothed(["a"]) == {"a": 0.75}
    assert after.state("rounds") == b"1"
    after.close()


def test_an_update_that_fails_inside_exclusive_is_undone() -> None:
    reputation = Reputation(momentum=0.5)

    def half_a_round() -> None:
        with reputation.exclusive():
            reputation.update({"a": 1.0})
            raise RuntimeError

    with pytest.raises(RuntimeError):
        half_a_round()
    assert reputation.smoothed(["a"]) == {"a": 0.5}


def test_exclusive_makes_read_and_update_one_step_for_threads() -> None:
    reputation = Reputation()

    def count() -> None:
        for _ in range(50):
            with reputation.exclusive():
                seen = int(reputation.state("n") or b"0")
                reputation.update({}, states={"n": str(seen + 1).encode()})

    threads = [threading.Thread(target=count) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert reputation.state("n") == b"200"


def _count(path: Path, times: int) -> None:
    reputation = Reputation(path)
    for _ in range(times):
        with reputation.exclusive():
            seen = int(reputation.state("n") or b"0")
            reputation.update({"a": 1.0}, states={"n": str(seen + 1).encode()})
    reputation.close()


def test_exclusive_holds_between_processes(tmp_path: Path) -> None:
    path = tmp_path / "reputation.sqlite"
    Reputation(path).close()
    context = multiprocessing.get_context("spawn")
    workers = [context.Process(target=_count, args=(path, 20)) for _ in range(2)]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()
    assert [worker.exitcode for worker in workers] == [0, 0]
    after = Reputation(path)
    assert after.state("n") == b"40"
    assert after.smoothed(["a"])["a"] == pytest.approx(1 - 0.5 * 0.9**40)
    after.close()


def test_frozen_ignores_updates_of_this_thread_only() -> None:
    reputation = Reputation(momentum=0.5)
    with reputation.frozen():
        reputation.update({"a": 1.0}, states={"x": b"1"})
        other = threading.Thread(target=reputation.update, args=({"b": 1.0},))
        other.start()
        other.join()
    assert reputation.smoothed(["a", "b"]) == {"a": 0.5, "b": 0.75}
    assert reputation.state("x") is None
    reputation.update({"a": 1.0})
    assert reputation.smoothed(["a"]) == {"a": 0.75}


@pytest.mark.parametrize(
    ("start", "momentum"), [(-0.1, 0.9), (1.1, 0.9), (0.5, 1.0), (0.5, -0.1), (math.nan, 0.9)]
)
def test_bad_settings_are_refused(start: float, momentum: float) -> None:
    with pytest.raises(ConfigError):
        Reputation(start=start, momentum=momentum)


def test_another_file_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "reputation.sqlite"
    path.write_text("no database, but long enough to be taken for a broken one " * 20)
    with pytest.raises(StoreError, match="not a usable reputation"):
        Reputation(path)


def test_another_version_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "reputation.sqlite"
    database = sqlite3.connect(path)
    database.execute("PRAGMA user_version=9")
    database.close()
    with pytest.raises(StoreError, match="version 9"):
        Reputation(path)
