"""Verifies an audit log from its first record to its head, and says which record is the first bad one."""

from __future__ import annotations

import fcntl
from dataclasses import dataclass
from pathlib import Path

from core.errors import StoreError
from source_node.audit import GENESIS, HEAD_NAME, LOG_NAME, Head, check_line


@dataclass(frozen=True, slots=True)
class AuditReport:
    """A sound log: how many records, the hash of the last, bytes of a torn last line (0: none)."""

    records: int
    head: str
    torn_bytes: int = 0


def verify(folder: Path, anchor: tuple[int, str] | None = None) -> AuditReport:
    """Check every record of the log in `folder`, which may be in use meanwhile.

    Args:
        anchor: (number, hash) of a record, kept elsewhere since an earlier verification. The hashes
            alone cannot show that a log was written anew from some record on; an anchor does.

    Raises:
        StoreError: no log, or the first bad record with what is wrong about it.
    """
    path = folder / LOG_NAME
    if not path.is_file():
        missing = f"{path}: no audit log"
        raise StoreError(f"{missing}, though its head is there" if (folder / HEAD_NAME).exists() else missing)
    try:
        return _verified(path, folder / HEAD_NAME, anchor)
    except OSError as error:
        raise StoreError(f"{path}: cannot be read ({error.strerror})") from None


def _verified(path: Path, head_path: Path, anchor: tuple[int, str] | None) -> AuditReport:
    with path.open("rb") as log:
        fcntl.flock(log, fcntl.LOCK_SH)  # a moment's picture, during which nothing is half written
        try:
            size = path.stat().st_size
            head = Head.parse(head_path.read_bytes(), head_path) if head_path.exists() else None
        finally:
            fcntl.flock(log, fcntl.LOCK_UN)
        if head is None and size:
            raise StoreError(f"{head_path} is missing: whether records were cut off cannot be told")
        number, digest, end = 0, GENESIS, 0
        while end < size:
            line = log.readline(size - end)
            if not line.endswith(b"\n"):
                break
            number += 1
            digest = check_line(line[:-1], number, digest)
            end += len(line)
            if head is not None and number == head.number and (digest, end) != (head.hash, head.end):
                raise StoreError(f"audit record {number}: is not the record that the head names")
            if anchor is not None and number == anchor[0] and digest != anchor[1]:
                raise StoreError(f"audit record {number}: is not the record of the anchor")
    if head is not None and number < head.number:
        what = "cut in two" if end < size else "missing"
        raise StoreError(
            f"audit record {number + 1}: {what}, though it was acknowledged ({head.number} were)"
        )
    if anchor is not None and number < anchor[0]:
        raise StoreError(f"audit record {number + 1}: missing, the anchor is record {anchor[0]}")
    return AuditReport(number, digest, size - end)
