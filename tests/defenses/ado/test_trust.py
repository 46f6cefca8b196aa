"""Trust: Eq. 3, kept through crashes, bounded, not to be washed away."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from core.errors import StoreError
from defenses.ado.trust import TrustConfig, TrustStore, delta

_WRITER = """
import sys
from pathlib import Path
from defenses.ado.trust import TrustStore
store = TrustStore(Path(sys.argv[1]))
print("ready", flush=True)
for i in range(100000):
    store.update(f"user{i % 7}", -0.001, -0.001)
    sys.stdout.write("u")
    sys.stdout.flush()
"""


def test_equation_3_by_hand() -> None:
    store = TrustStore()
    assert store.score("ann") == 0.5
    assert store.update("ann", 0.05, 0.02) == pytest.approx(0.57)
    assert store.update("ann", -0.1, -0.1) == pytest.approx(0.37)
    assert store.update("ann", -5.0, 5.0) == pytest.approx(0.37)
    for _ in range(5):
        store.update("ann", -0.1, -0.1)
    assert store.score("ann") == 0.0
    record = store.listing()[0]
    assert (record.user_id, record.questions, record.suspicious) == ("ann", 8, 6)


@given(st.lists(st.tuples(st.floats(-1, 1), st.floats(-1, 1)), max_size=30))
def test_trust_stays_in_the_unit_interval(deltas: list[tuple[float, float]]) -> None:
    store = TrustStore()
    for pre, post in deltas:
        before = store.score("x")
        after = store.update("x", pre, post)
        assert 0.0 <= after <= 1.0
        assert abs(after - before) <= 0.2 + 1e-12
    store.close()


@given(st.floats(0, 1))
def test_delta_is_bounded_and_falls_with_risk(risk: float) -> None:
    config = TrustConfig()
    assert -0.1 <= delta(risk, config) <= 0.1
    assert delta(risk, config) >= delta(min(1.0, risk + 0.1), config)
    assert delta(0.0, config) == config.gain
    assert delta(config.knee, config) == 0.0
    assert delta(1.0, config) == -config.loss


def test_anonymous_callers_have_a_fixed_trust() -> None:
    store = TrustStore(config=TrustConfig(anonymous=0.3))
    assert store.update("", -0.1, -0.1) == 0.3
    assert store.score("") == 0.3
    assert len(store) == 0


def test_persists_and_resets(tmp_path: Path) -> None:
    path = tmp_path / "state" / "trust.sqlite"
    store = TrustStore(path)
    store.update("ann", -0.1, -0.1)
    store.update("bob", 0.1, 0.1)
    store.close()
    again = TrustStore(path)
    assert again.score("ann") == pytest.approx(0.3)
    assert [r.user_id for r in again.listing()] == ["ann", "bob"]
    assert [r.user_id for r in again.listing(1, worst_first=False)] == ["bob"]
    assert again.reset("ann") == 1
    assert again.reset("nobody") == 0
    assert again.score("ann") == 0.5
    assert again.reset() == 1


def test_bounded_and_a_bad_name_cannot_be_washed_away() -> None:
    store = TrustStore(config=TrustConfig(max_users=20))
    for _ in range(5):
        store.update("villain", -0.1, -0.1)
    for i in range(500):
        store.update(f"sock{i}", 0.004, 0.004)
    assert len(store) == 20
    assert store.score("villain") == 0.0


def test_threads_lose_no_update(tmp_path: Path) -> None:
    store = TrustStore(tmp_path / "trust.sqlite")
    with ThreadPoolExecutor(16) as pool:
        list(pool.map(lambda _: store.update("ann", 0.001, 0.0), range(200)))
    assert store.score("ann") == pytest.approx(0.7)
    assert store.listing()[0].questions == 200


def test_survives_kill_minus_nine(tmp_path: Path) -> None:
    path = tmp_path / "trust.sqlite"
    process = subprocess.Popen([sys.executable, "-c", _WRITER, str(path)], stdout=subprocess.PIPE)
    assert process.stdout is not None
    assert process.stdout.readline() == b"ready\n"
    time.sleep(0.1)
    os.kill(process.pid, signal.SIGKILL)
    done = process.stdout.read().count(b"u")
    process.wait()
    process.stdout.close()
    store = TrustStore(path)
    questions = sum(record.questions for record in store.listing())
    assert done <= questions <= done + 1
    for record in store.listing():
        assert record.score == pytest.approx(max(0.0, 0.5 - 0.002 * record.questions), abs=1e-9)


def test_another_file_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "trust.sqlite"
    path.write_bytes(b"x" * 5000)
    with pytest.raises(StoreError, match="not a usable trust store"):
        TrustStore(path)
