"""The audit log: one line for every request, chained by hash, on disk before the reply leaves.

`FOLDER/log.jsonl` holds the records, oldest first. Each is one line of canonical JSON whose `hash` is
SHA-256 over the rest of the line, `prev` (the hash before it) included: a record cannot be changed,
removed or put elsewhere without every later hash changing too. `FOLDER/head` names the last record that
was acknowledged, its hash and the length of the log, so that a cut-off end shows as well.

A record is written and flushed to disk first, then the head follows, then the request is answered. A
kill can therefore leave a torn last line (never acknowledged, removed at the next start) or records
beyond the head (whole, kept), and nothing else. Records hold names, ids and numbers: no question, no text.
"""

from __future__ import annotations

import datetime
import fcntl
import hashlib
import json
import logging
import os
import threading
import time
import zlib
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any, NamedTuple

from core.errors import StoreError
from core.paths import write_atomic

_LOG = logging.getLogger(__name__)
LOG_NAME = "log.jsonl"
HEAD_NAME = "head"
GENESIS = hashlib.sha256(b"securecollarag audit 1").hexdigest()


@dataclass(frozen=True, slots=True)
class Entry:
    """One request: who asked what, how it ended, and what left.

    `outcome` is a gRPC status name, `documents` the ids that left, `mechanism` and `epsilon` the privacy
    that was applied (`epsilon` 0: none), `skipped` how many refusals of this caller since its last
    record have none of their own.
    """

    caller: str
    method: str
    outcome: str
    request_id: str = ""
    top_k: int = 0
    documents: tuple[str, ...] = ()
    mechanism: str = ""
    epsilon: float = 0.0
    skipped: int = 0


class Head(NamedTuple):
    """The last acknowledged record: its number (0: none), its hash, and the log's length in bytes."""

    number: int
    hash: str
    end: int

    def line(self) -> bytes:
        """The head as its file holds it: of one length always, with a checksum."""
        body = f"{self.number:020d} {self.end:020d} {self.hash}"
        return f"{body} {zlib.crc32(body.encode()):08x}\n".encode()

    @classmethod
    def parse(cls, data: bytes, path: Path) -> Head:
        """Read `line`'s form.

        Raises:
            StoreError: it is not of that form.
        """
        parts = data.decode("ascii", "replace").split()
        try:
            number, end, digest, checksum = parts
            head = cls(int(number), digest, int(end))
        except ValueError:
            raise StoreError(f"{path}: not the head of an audit log") from None
        if head.line() != data or checksum != data[-9:-1].decode():
            raise StoreError(f"{path}: the head of the audit log was altered")
        return head


@dataclass(slots=True)
class _Waiting:
    entry: Entry
    moment: float
    done: bool = False
    error: str = ""
    number: int = field(default=0)


class AuditLog:
    """The open log of one node; safe for threads, and for processes that share the folder.

    Requests that end at the same time share one flush.

    Args:
        folder: made if missing.
        clock: Unix time.

    Raises:
        StoreError: not usable, or shorter than its head says (somebody removed records).
    """

    def __init__(self, folder: Path, clock: Callable[[], float] = time.time) -> None:
        self.folder = folder
        self._path, self._head_path = folder / LOG_NAME, folder / HEAD_NAME
        self._clock = clock
        self._queue: list[_Waiting] = []
        self._queueing, self._writing = threading.Lock(), threading.Lock()
        self._last: Head | None = None
        try:
            folder.mkdir(parents=True, exist_ok=True)
            self._file = os.open(self._path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o640)
            with _locked(self._file, fcntl.LOCK_EX):
                self._last = self._recovered()
        except OSError as error:
            raise StoreError(f"{folder}: the audit log cannot be opened ({error.strerror})") from None

    def append(self, entry: Entry) -> int:
        """Record `entry`; on return it is on disk. Returns the record's number, from 1.

        Raises:
            StoreError: it could not be written; the caller must not let documents leave.
        """
        waiting = _Waiting(entry, self._clock())
        with self._queueing:
            self._queue.append(waiting)
        with self._writing:
            if not waiting.done:  # else whoever wrote before took this one along
                with self._queueing:
                    batch, self._queue = self._queue, []
                self._write(batch)
        if waiting.error:
            raise StoreError(waiting.error)
        return waiting.number

    def head(self) -> Head:
        """The last record that this process knows to be on disk."""
        with self._writing, _locked(self._file, fcntl.LOCK_EX):
            return self._last or self._recovered()

    def close(self) -> None:
        """Close the file."""
        with self._writing:
            os.close(self._file)

    def _write(self, batch: list[_Waiting]) -> None:
        try:
            with _locked(self._file, fcntl.LOCK_EX):
                if self._path.stat().st_ino != os.fstat(self._file).st_ino:
                    raise StoreError(f"{self._path}: the audit log was replaced while in use")
                last = self._last
                if last is None or os.fstat(self._file).st_size != last.end:
                    last = self._recovered()
                self._last = None  # whatever goes wrong from here on is looked at anew next time
                lines = bytearray()
                number, digest = last.number, last.hash
                for waiting in batch:
                    number += 1
                    line, digest = chained(_body(waiting.entry, number, waiting.moment), digest)
                    lines += line
                    waiting.number = number
                self._put(bytes(lines), last.end)
                self._last = Head(number, digest, last.end + len(lines))
                _replace_head(self._head_path, self._last)
        except Exception as error:  # whatever it is: no request of this batch may count as recorded
            detail = getattr(error, "strerror", None) or str(error) or type(error).__name__
            for waiting in batch:
                waiting.error = f"{self._path}: the audit log cannot be written ({detail})"
        for waiting in batch:
            waiting.done = True

    def _put(self, data: bytes, end: int) -> None:
        try:
            written = 0
            while written < len(data):
                written += os.pwrite(self._file, data[written:], end + written)
            os.fdatasync(self._file)
        except OSError:
            os.ftruncate(self._file, end)  # a full disk may have taken a part
            raise

    def _recovered(self) -> Head:
        """The log's last whole record, a torn line behind it removed; the caller holds the lock."""
        size = os.fstat(self._file).st_size
        if not self._head_path.exists():
            if size:
                raise StoreError(
                    f"{self._head_path} is missing beside an audit log: see scr source audit verify"
                )
            head = Head(0, GENESIS, 0)
            write_atomic(self._head_path, head.line())
            _sync_folder(self.folder)
            return head
        head = Head.parse(self._head_path.read_bytes(), self._head_path)
        if size < head.end:
            raise StoreError(
                f"{self._path}: records are missing at its end ({size} bytes, its head says {head.end}): "
                "see scr source audit verify"
            )
        rest = os.pread(self._file, size - head.end, head.end)
        for line in rest.split(b"\n")[:-1]:
            number = head.number + 1
            digest = check_line(line, number, head.hash)
            head = Head(number, digest, head.end + len(line) + 1)
        if head.end < size:
            _LOG.warning("audit log: a torn last line of %d bytes is removed", size - head.end)
            os.ftruncate(self._file, head.end)
        if rest:
            os.fdatasync(self._file)
            _replace_head(self._head_path, head)
        return head


def chained(body: dict[str, Any], previous: str) -> tuple[bytes, str]:
    """(line, hash) of the record with `body` after the record with the hash `previous`."""
    rest = {**body, "prev": previous}
    digest = hashlib.sha256(_canonical(rest)).hexdigest()
    return _canonical({**rest, "hash": digest}) + b"\n", digest


def check_line(line: bytes, number: int, previous: str) -> str:
    """The hash of record `number`, read from its `line` (without the line's end).

    Raises:
        StoreError: it is not the record that was written there.
    """
    try:
        record = json.loads(line)
        digest = record.pop("hash")
        found, before = record["n"], record.pop("prev")
    except (ValueError, KeyError, TypeError, AttributeError):
        raise StoreError(f"audit record {number}: not a record any more") from None
    if found != number:
        raise StoreError(f"audit record {number}: number {found} stands in its place")
    if before != previous:
        raise StoreError(f"audit record {number}: does not follow on the record before it")
    written, expected = chained(record, previous)
    if digest != expected or written != line + b"\n":
        raise StoreError(f"audit record {number}: was altered")
    return expected


def _body(entry: Entry, number: int, moment: float) -> dict[str, Any]:
    when = datetime.datetime.fromtimestamp(moment, datetime.UTC).isoformat(timespec="microseconds")
    kept = {key: value for key, value in asdict(entry).items() if value or key in _ALWAYS}
    return {"n": number, "time": when, **kept}


_ALWAYS = frozenset({"caller", "method", "outcome", "documents", "epsilon"})


def _canonical(record: dict[str, Any]) -> bytes:
    return json.dumps(record, sort_keys=True, separators=(",", ":"), ensure_ascii=True).encode()


def _replace_head(path: Path, head: Head) -> None:
    """In place and within one sector: a crash leaves the old line or the new one."""
    file = os.open(path, os.O_WRONLY | os.O_CLOEXEC)
    try:
        os.pwrite(file, head.line(), 0)
    finally:
        os.close(file)


def _sync_folder(folder: Path) -> None:
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


@contextmanager
def _locked(file: int, kind: int) -> Iterator[None]:
    fcntl.flock(file, kind)
    try:
        yield
    finally:
        fcntl.flock(file, fcntl.LOCK_UN)
