"""The trail of a round: everything that led to its answer, as plain JSON without document texts."""

from __future__ import annotations

import errno
import json
import logging
import math
import os
import threading
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from aggregator.answer import Answer, JudgedDocument
from core.errors import StoreError
from core.pipeline import StageRecord
from core.text import content_hash, squash
from core.verdict import Verdict

_LOG = logging.getLogger(__name__)
_BLOCK = 65_536
TRAIL_SCHEMA = 1


def trail(answer: Answer) -> dict[str, Any]:
    """The round behind `answer` as a JSON-ready mapping.

    A document stands once with every source that returned it; its text is named by its hash alone.
    """
    verdicts: dict[Any, dict[str, Any]] = {document.key: {} for document in answer.documents}
    for record in answer.stages:
        for verdict in record.verdicts:
            verdicts[verdict.key][record.stage] = _verdict(verdict)
    copies: dict[Any, list[list[str]]] = {document.key: [] for document in answer.documents}
    for member, standing in answer.members.items():
        copies[standing].append(list(member))
    return {
        "schema": TRAIL_SCHEMA,
        "request_id": answer.query.request_id,
        "round": answer.query.round,
        "query": answer.query.text,
        "documents": [
            _document(document, verdicts[document.key], copies[document.key]) for document in answer.documents
        ],
        "stages": [_stage(record) for record in answer.stages],
        "failures": [
            {"source": failure.source_id, "kind": failure.kind, "detail": failure.detail}
            for failure in answer.failures
        ],
        "answer": answer.text,
        "reader": answer.reader,
        "refused": answer.refused,
        "abstained": answer.abstained,
        "read": [list(key) for key in answer.read],
        "warnings": list(answer.warnings),
        **({"orchestration": dict(answer.orchestration)} if answer.orchestration else {}),
        "reliability": {
            source: {"before": before, "after": answer.reliability_after.get(source, before)}
            for source, before in answer.reliability_before.items()
        },
        "latencies_ms": {step: round(value, 3) for step, value in answer.latencies.items()},
    }


def _document(document: JudgedDocument, verdicts: dict[str, Any], copies: list[list[str]]) -> dict[str, Any]:
    candidate = document.candidate
    return {
        "source": candidate.key.source_id,
        "doc_id": candidate.key.doc_id,
        "text_hash": content_hash(squash(candidate.text)),
        "rank": candidate.rank,
        "similarity": candidate.similarity,
        "holders": [list(holder) for holder in candidate.holders],
        "members": copies,
        "kept": document.kept,
        "credibility": document.credibility,
        "reason": document.reason,
        "verdicts": verdicts,
    }


def _verdict(verdict: Verdict) -> dict[str, Any]:
    return {
        "action": verdict.action.value,
        "credibility": verdict.credibility,
        "reason": verdict.reason,
        "evidence": _numbers(verdict.evidence),
    }


def _stage(record: StageRecord) -> dict[str, Any]:
    return {
        "stage": record.stage,
        "hook": record.hook.value,
        "milliseconds": round(record.milliseconds, 3),
        "error": record.error,
        "notes": _numbers(record.notes),
    }


def _numbers(values: Mapping[str, float]) -> dict[str, float | None]:
    """Plain floats; a number that JSON cannot say is null."""
    return {name: float(value) if math.isfinite(value) else None for name, value in values.items()}


class TrailLog:
    """Trails appended to a JSONL file, one line a round; safe for threads.

    Raises:
        StoreError: the file cannot be opened for appending.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self._lock = threading.Lock()
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            _end_whole(path)
            self._file = path.open("ab", buffering=0)
        except OSError as error:
            raise StoreError(f"{path}: trails cannot be written there ({error.strerror})") from None

    def write(self, answer: Answer) -> None:
        """Append the trail of `answer`, the whole line or nothing.

        Raises:
            StoreError: the file cannot be written.
        """
        line = json.dumps(trail(answer), ensure_ascii=False, allow_nan=False, separators=(",", ":"))
        data = line.encode("utf-8", "replace") + b"\n"
        with self._lock:
            before = self._file.seek(0, os.SEEK_END)
            try:
                written = self._file.write(data)  # unbuffered: a full disk may take a part
                if written != len(data):
                    raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
            except OSError as error:
                self._file.truncate(before)
                raise StoreError(f"{self.path}: the trail cannot be written ({error.strerror})") from None

    def close(self) -> None:
        """Close the file."""
        with self._lock:
            self._file.close()


def _end_whole(path: Path) -> None:
    """Cut a line that a crash left half written: its round was never answered."""
    if not path.is_file():
        return
    with path.open("r+b") as file:
        end = file.seek(0, os.SEEK_END)
        keep = end
        while keep > 0:
            start = max(0, keep - _BLOCK)
            file.seek(start)
            at = file.read(keep - start).rfind(b"\n")
            if at >= 0:
                keep = start + at + 1
                break
            keep = start
        if keep < end:
            _LOG.warning("%s: %d bytes of an unfinished line cut off", path, end - keep)
            file.truncate(keep)
