"""The audit log: whatever happens to it afterwards shows, whatever was acknowledged is there."""

from __future__ import annotations

import json
import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from core.cli import main
from core.errors import StoreError
from source_node.audit import GENESIS, HEAD_NAME, LOG_NAME, AuditLog, Entry
from source_node.audit_check import verify


def entry(number: int) -> Entry:
    return Entry("hospital-7", "Retrieve", "OK", f"r{number}", 5, (f"d{number}", "é\n"), "laplace", 0.5)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A log of six records."""
    log = AuditLog(tmp_path / "audit")
    for number in range(6):
        assert log.append(entry(number)) == number + 1
    log.close()
    return tmp_path / "audit"


def lines(folder: Path) -> list[bytes]:
    return (folder / LOG_NAME).read_bytes().splitlines(keepends=True)


def test_a_record_says_who_when_what_and_at_what_epsilon(tmp_path: Path) -> None:
    log = AuditLog(tmp_path, clock=lambda: 0.0)
    log.append(Entry("bank", "Retrieve", "OK", "r1", 3, ("d1", "d2"), "gumbel", 1.5))
    log.append(Entry("bank", "Describe", "PERMISSION_DENIED"))
    first, second = map(json.loads, lines(tmp_path))
    assert first == {
        "n": 1,
        "time": "1970-01-01T00:00:00.000000+00:00",
        "caller": "bank",
        "method": "Retrieve",
        "outcome": "OK",
        "request_id": "r1",
        "top_k": 3,
        "documents": ["d1", "d2"],
        "mechanism": "gumbel",
        "epsilon": 1.5,
        "prev": GENESIS,
        "hash": first["hash"],
    }
    assert second["prev"] == first["hash"]
    assert second["documents"] == []
    assert log.head().hash == second["hash"]
    log.close()


def test_a_log_goes_on_where_it_stopped(folder: Path) -> None:
    log = AuditLog(folder)
    assert log.append(entry(6)) == 7
    log.close()
    assert verify(folder).records == 7


def test_an_empty_log_is_sound(tmp_path: Path) -> None:
    AuditLog(tmp_path).close()
    assert verify(tmp_path).records == 0
    with pytest.raises(StoreError, match="no audit log"):
        verify(tmp_path / "nowhere")


@settings(max_examples=30, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(data=st.data())
def test_any_changed_byte_shows_at_its_record(folder: Path, data: st.DataObject) -> None:
    original = (folder / LOG_NAME).read_bytes()
    at = data.draw(st.integers(0, len(original) - 1))
    new = data.draw(st.integers(0, 255).filter(lambda value: value != original[at]))
    changed = bytearray(original)
    changed[at] = new
    (folder / LOG_NAME).write_bytes(changed)
    number = original[:at].count(b"\n") + 1
    try:
        with pytest.raises(StoreError, match=f"audit record {number}:"):
            verify(folder)
    finally:
        (folder / LOG_NAME).write_bytes(original)
    assert verify(folder).records == 6


@pytest.mark.parametrize(
    ("edit", "problem"),
    [
        (lambda rows: rows[:2] + rows[3:], "audit record 3: number 4 stands in its place"),
        (lambda rows: [rows[0], rows[2], rows[1], *rows[3:]], "audit record 2: number 3"),
        (lambda rows: rows[:5], "audit record 6: missing, though it was acknowledged"),
        (lambda rows: [*rows[:5], rows[5][:40]], "audit record 6: cut in two"),
        (lambda rows: [], "audit record 1: missing"),
        (lambda rows: [*rows, rows[5]], "audit record 7: number 6"),
        (lambda rows: [rows[0].replace(b"{", b"{ ", 1), *rows[1:]], "audit record 1: was altered"),
        (lambda rows: [b"[]\n", *rows[1:]], "audit record 1: not a record any more"),
    ],
)
def test_what_was_done_to_the_log_is_named(folder: Path, edit, problem: str) -> None:
    (folder / LOG_NAME).write_bytes(b"".join(edit(lines(folder))))
    with pytest.raises(StoreError, match=problem):
        verify(folder)


def test_a_line_torn_by_a_kill_is_told_apart_and_removed(folder: Path) -> None:
    with (folder / LOG_NAME).open("ab") as log:
        log.write(b'{"caller":"hosp')
    report = verify(folder)
    assert (report.records, report.torn_bytes) == (6, 15)
    log = AuditLog(folder)
    log.append(entry(6))
    log.close()
    assert verify(folder).torn_bytes == 0
    assert verify(folder).records == 7


def test_whole_records_beyond_the_head_are_kept(folder: Path) -> None:
    stale = (folder / HEAD_NAME).read_bytes()
    log = AuditLog(folder)
    log.append(entry(6))
    log.close()
    (folder / HEAD_NAME).write_bytes(stale)  # killed between the record and the head
    assert verify(folder).records == 7
    log = AuditLog(folder)
    assert log.append(entry(7)) == 8
    log.close()
    assert verify(folder).records == 8


def test_a_log_that_lost_records_is_not_opened(folder: Path) -> None:
    (folder / LOG_NAME).write_bytes(b"".join(lines(folder)[:4]))
    with pytest.raises(StoreError, match="records are missing at its end"):
        AuditLog(folder)
    (folder / HEAD_NAME).unlink()
    with pytest.raises(StoreError, match="head is missing"):
        AuditLog(folder)
    with pytest.raises(StoreError, match="cut off cannot be told"):
        verify(folder)


@pytest.mark.parametrize("head", [b"", b"0", b"x" * 118, b"0 0 0 0\n"])
def test_a_head_that_is_none_shows(folder: Path, head: bytes) -> None:
    (folder / HEAD_NAME).write_bytes(head)
    with pytest.raises(StoreError, match="head"):
        verify(folder)
    with pytest.raises(StoreError, match="head"):
        AuditLog(folder)


def test_a_log_written_anew_shows_against_an_anchor(folder: Path, tmp_path: Path) -> None:
    anchor = (3, json.loads(lines(folder)[2])["hash"])
    assert verify(folder, anchor).records == 6
    log = AuditLog(tmp_path / "forged")
    for number in range(6):
        log.append(Entry("somebody else", "Retrieve", "OK", f"r{number}"))
    log.close()
    assert verify(tmp_path / "forged").records == 6
    with pytest.raises(StoreError, match="audit record 3: is not the record of the anchor"):
        verify(tmp_path / "forged", anchor)
    with pytest.raises(StoreError, match="audit record 7: missing, the anchor"):
        verify(folder, (9, GENESIS))


def test_threads_and_processes_may_share_a_log(tmp_path: Path) -> None:
    logs = [AuditLog(tmp_path), AuditLog(tmp_path)]
    numbers: list[int] = []

    def work(log: AuditLog) -> None:
        for number in range(20):
            numbers.append(log.append(entry(number)))

    threads = [threading.Thread(target=work, args=(log,)) for log in logs for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(numbers) == list(range(1, 161))
    assert verify(tmp_path).records == 160
    for log in logs:
        log.close()


def test_a_log_that_was_replaced_takes_no_record(folder: Path) -> None:
    log = AuditLog(folder)
    (folder / LOG_NAME).rename(folder / "aside")
    (folder / LOG_NAME).write_bytes(b"")
    with pytest.raises(StoreError, match="was replaced while in use"):
        log.append(entry(6))
    (folder / "aside").rename(folder / LOG_NAME)
    assert log.append(entry(6)) == 7
    log.close()


_KILLED = """
import os, sys
from pathlib import Path
from source_node.audit import AuditLog, Entry
log = AuditLog(Path(sys.argv[1]))
while True:
    print(log.append(Entry("c", "Retrieve", "OK", documents=("d",) * 50)), flush=True)
"""

_FULL = """
import resource, sys
from pathlib import Path
from core.errors import StoreError
from source_node.audit import AuditLog, Entry
log = AuditLog(Path(sys.argv[1]))
resource.setrlimit(resource.RLIMIT_FSIZE, (5_000, resource.RLIM_INFINITY))
count = 0
try:
    while True:
        count = log.append(Entry("c", "Retrieve", "OK", documents=("d",) * 50))
except StoreError:
    pass
resource.setrlimit(resource.RLIMIT_FSIZE, (resource.RLIM_INFINITY, resource.RLIM_INFINITY))
print(count, log.append(Entry("c", "Retrieve", "OK")))
"""


def test_no_acknowledged_record_is_lost_by_a_kill(tmp_path: Path, repository: Path) -> None:
    process = subprocess.Popen(
        [sys.executable, "-c", _KILLED, str(tmp_path)], cwd=repository, stdout=subprocess.PIPE, text=True
    )
    assert process.stdout is not None
    acknowledged = 0
    while acknowledged < 30:
        acknowledged = int(process.stdout.readline())
    process.kill()
    seen = [int(line) for line in process.stdout.read().splitlines() if line]
    process.wait()
    assert verify(tmp_path).records >= max([acknowledged, *seen])


def test_a_full_disk_refuses_and_later_goes_on(tmp_path: Path, repository: Path) -> None:
    done = subprocess.run(
        [sys.executable, "-c", _FULL, str(tmp_path)], cwd=repository, capture_output=True, text=True
    )
    assert done.returncode == 0, done.stderr
    before, after = map(int, done.stdout.split())
    assert before >= 1
    assert after == before + 1
    assert verify(tmp_path).records == after


def test_a_batch_that_fails_for_any_reason_is_acknowledged_to_nobody(folder: Path) -> None:
    log = AuditLog(folder)
    impossible = AuditLog(folder, clock=lambda: 1e18)  # no date: a clock that was stepped very far
    with pytest.raises(StoreError, match="cannot be written"):
        impossible.append(entry(6))
    failed: list[str] = []

    def work(number: int) -> None:
        try:
            log.append(entry(number))
        except StoreError as error:
            failed.append(str(error))

    log._clock = iter([1e18, 0.0, 0.0]).__next__
    threads = [threading.Thread(target=work, args=(number,)) for number in range(3)]
    with log._writing:  # so that all three are in one batch
        for thread in threads:
            thread.start()
        end = time.monotonic() + 60
        while len(log._queue) < 3 and time.monotonic() < end:
            time.sleep(0.01)
    for thread in threads:
        thread.join(60)
    assert len(failed) == 3
    log._clock = lambda: 0.0
    assert log.append(entry(6)) == 7
    assert verify(folder).records == 7
    log.close()
    impossible.close()


def test_the_command_tells(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    store = str(folder.parent)
    assert main(["source", "audit", "verify", "--store", store]) == 0
    last = capsys.readouterr().out.split("last ")[1].strip()
    assert main(["source", "audit", "verify", "--audit", str(folder), "--anchor", last]) == 0
    assert main(["source", "audit", "verify", "--store", store, "--anchor", "nonsense"]) == 2
    rows = lines(folder)
    (folder / LOG_NAME).write_bytes(b"".join([*rows[:3], rows[3].replace(b'"d3"', b'"d9"'), *rows[4:]]))
    capsys.readouterr()
    assert main(["source", "audit", "verify", "--store", store]) == 2
    assert "audit record 4: was altered" in capsys.readouterr().err


def test_the_log_is_not_for_everybody(folder: Path) -> None:
    assert (folder / LOG_NAME).stat().st_mode & 0o007 == 0
