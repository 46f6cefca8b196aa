"""The ledger never overspends and never forgets, whatever happens to its process."""

from __future__ import annotations

import os
import random
import signal
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from core.errors import BudgetError, ConfigError, StoreError
from source_node.accountant import ANONYMOUS, Accountant

_CHARGER = """
import sys
from pathlib import Path
from source_node.accountant import Accountant
accountant = Accountant(Path(sys.argv[1]), budget=1e6)
print("ready", flush=True)
while True:
    sys.stdout.write("a")       # an answer is about to be paid for
    sys.stdout.flush()
    accountant.charge("clinic", 0.25)
    sys.stdout.write("b")       # and has left
    sys.stdout.flush()
"""
_SPENDER = """
import sys
from pathlib import Path
from core.errors import BudgetError
from source_node.accountant import Accountant
accountant = Accountant(Path(sys.argv[1]), budget=5.0)
served = 0
for _ in range(int(sys.argv[2])):
    try:
        accountant.charge("clinic", 0.1)
    except BudgetError:
        continue
    served += 1
print(served)
"""


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "node" / "ledger.sqlite"


def test_spends_up_to_the_budget_and_no_further(path: Path) -> None:
    accountant = Accountant(path, budget=1.0)
    assert [accountant.charge("clinic", 0.25) for _ in range(4)] == [0.75, 0.5, 0.25, 0.0]
    with pytest.raises(BudgetError, match=r"'clinic': 1 of 1 is spent, 0\.25 more was asked"):
        accountant.charge("clinic", 0.25)
    assert accountant.spent("clinic") == 1.0
    assert accountant.charge("bank", 1.0) == 0.0
    account = accountant.accounts()[0]
    assert (account.spent, account.charges) == (1.0, 1)
    assert {a.requester: a.refusals for a in accountant.accounts()} == {"bank": 0, "clinic": 1}


def test_a_new_connection_or_restart_resets_nothing(path: Path) -> None:
    Accountant(path, budget=1.0).charge("clinic", 0.8)
    again = Accountant(path, budget=1.0)
    with pytest.raises(BudgetError):
        again.charge("clinic", 0.8)
    again.close()
    lower = Accountant(path, budget=0.5)
    with pytest.raises(BudgetError):
        lower.charge("clinic", 0.001)


def test_callers_without_a_name_share_one_account(path: Path) -> None:
    accountant = Accountant(path, budget=1.0)
    accountant.charge("", 0.6)
    with pytest.raises(BudgetError):
        accountant.charge("", 0.6)
    assert accountant.spent(ANONYMOUS) == 0.6


@settings(max_examples=25)
@given(st.lists(st.floats(1e-12, 2.0), max_size=30))
def test_rounding_never_favours_the_spender(
    tmp_path_factory: pytest.TempPathFactory, costs: list[float]
) -> None:
    accountant = Accountant(tmp_path_factory.mktemp("ledger") / "l.sqlite", budget=1.0)
    paid = 0.0
    for cost in costs:
        try:
            accountant.charge("x", cost)
        except BudgetError:
            continue
        paid += cost
    assert paid <= 1.0 + 1e-12
    assert accountant.spent("x") >= paid - 1e-12
    accountant.close()


@pytest.mark.parametrize("epsilon", [0.0, -1.0, float("nan"), float("inf")])
def test_nonsense_is_refused(path: Path, epsilon: float) -> None:
    with pytest.raises(ConfigError):
        Accountant(path, budget=1.0).charge("x", epsilon)
    with pytest.raises(ConfigError):
        Accountant(path, budget=epsilon)


def test_a_broken_ledger_is_an_error_not_a_fresh_start(path: Path) -> None:
    path.parent.mkdir()
    path.write_bytes(b"not a database at all" * 100)
    with pytest.raises(StoreError, match="not a usable privacy ledger"):
        Accountant(path, budget=1.0)
    assert path.read_bytes().startswith(b"not a database")


def test_a_read_only_ledger_refuses_to_charge(path: Path) -> None:
    accountant = Accountant(path, budget=1.0)
    accountant._db.execute("PRAGMA query_only=1")
    with pytest.raises(StoreError, match="cannot be written"):
        accountant.charge("x", 0.1)


def test_sixty_four_concurrent_clients_never_overspend(path: Path) -> None:
    accountants = [Accountant(path, budget=10.0) for _ in range(4)]

    def client(number: int) -> int:
        served = 0
        for _ in range(5):
            try:
                accountants[number % 4].charge("clinic", 0.1)
            except BudgetError:
                continue
            served += 1
        return served

    with ThreadPoolExecutor(64) as pool:
        served = sum(pool.map(client, range(64)))
    assert served == 100
    assert accountants[0].spent("clinic") == pytest.approx(10.0, abs=1e-9)


def test_several_processes_never_overspend(path: Path) -> None:
    Accountant(path, budget=5.0)
    command = [sys.executable, "-c", _SPENDER, str(path), "40"]
    processes = [subprocess.Popen(command, stdout=subprocess.PIPE, text=True) for _ in range(3)]
    served = sum(int(process.communicate(timeout=120)[0]) for process in processes)
    assert served == 50
    assert Accountant(path, budget=5.0).spent("clinic") == pytest.approx(5.0)


def kill_while_charging(path: Path, rounds: int, seed: int) -> list[tuple[int, int, int]]:
    """Kill -9 a charging process at random moments: what it had asked for, paid and answered each time."""
    rng = random.Random(seed)
    paid_before = 0
    counts = []
    for _ in range(rounds):
        process = subprocess.Popen(
            [sys.executable, "-c", _CHARGER, str(path)], stdout=subprocess.PIPE, start_new_session=True
        )
        assert process.stdout is not None
        assert process.stdout.readline() == b"ready\n"
        time.sleep(rng.uniform(0.0, 0.08))
        os.kill(process.pid, signal.SIGKILL)
        said = process.stdout.read()
        process.wait()
        process.stdout.close()
        accountant = Accountant(path, budget=1e6)
        charges = round(accountant.spent("clinic") / 0.25) - paid_before
        accountant.close()
        counts.append((said.count(b"a"), charges, said.count(b"b")))
        paid_before += charges
    return counts


def test_killed_at_any_moment_it_never_forgets(path: Path) -> None:
    for asked, paid, answered in kill_while_charging(path, rounds=4, seed=0):
        assert answered <= paid <= asked


@pytest.mark.faults
def test_killed_at_any_moment_it_never_forgets_long(path: Path) -> None:
    for asked, paid, answered in kill_while_charging(path, rounds=150, seed=1):
        assert answered <= paid <= asked
