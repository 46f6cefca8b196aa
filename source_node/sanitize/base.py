"""The contract of a detector, and the sanitizer that applies one."""

from __future__ import annotations

import re
import threading
from collections import Counter, OrderedDict
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import NamedTuple, Protocol

from core.errors import ContractError

_KIND = re.compile(r"[a-z][a-z_]{0,31}")
_KEPT = 2_048  # sanitized texts kept in memory


class Finding(NamedTuple):
    """`text[start:end]` is an identifier of `kind` (lower-case letters, e.g. `name`, `date`)."""

    start: int
    end: int
    kind: str


class Detector(Protocol):
    """Finds identifiers; the same text has the same findings. May load a model when it is made."""

    def find(self, text: str) -> Iterable[Finding]:
        """Spans within `text`, in any order; they may overlap."""
        ...


@dataclass(frozen=True, slots=True)
class Sanitized:
    """A text without its identifiers and how many of each kind it had."""

    text: str
    removed: Counter[str]


class Sanitizer:
    """Replaces what a detector finds by `[KIND]` and counts it; safe for threads.

    What was removed is never logged or kept, only how much of it: `counts` has a number a kind, over
    all texts that left. A text that is asked for again is not searched again.

    Args:
        name: the detector's, for descriptions.
        detector: what finds.
        told: is given the counts of each text that had identifiers; what they were is not told.
    """

    def __init__(
        self, name: str, detector: Detector, told: Callable[[Mapping[str, int]], None] | None = None
    ) -> None:
        self.name = name
        self._detector = detector
        self._told = told
        self._lock = threading.Lock()
        self._counts: Counter[str] = Counter()
        self._known: OrderedDict[str, Sanitized] = OrderedDict()

    def clean(self, text: str) -> str:
        """`text` as it may leave.

        Raises:
            ContractError: the detector failed, or gave a span outside the text or an unusable kind.
        """
        with self._lock:
            found = self._known.get(text)
        if found is None:
            found = sanitized(text, self._findings(text), self.name)
        with self._lock:
            self._known[text] = found
            self._known.move_to_end(text)
            while len(self._known) > _KEPT:
                self._known.popitem(last=False)
            self._counts.update(found.removed)
        if self._told is not None and found.removed:
            self._told(found.removed)
        return found.text

    def _findings(self, text: str) -> list[Finding]:
        try:
            return list(self._detector.find(text))
        except Exception as error:  # its message may quote the text, and goes to the log
            raise ContractError(f"detector {self.name}", f"raised {type(error).__name__}") from None

    @property
    def counts(self) -> dict[str, int]:
        """Identifiers removed so far by kind, kinds sorted."""
        with self._lock:
            return dict(sorted(self._counts.items()))

    def forget(self) -> None:
        """Drop the texts kept in memory: documents may have been withdrawn."""
        with self._lock:
            self._known.clear()


def sanitized(text: str, findings: Iterable[Finding], detector: str = "given") -> Sanitized:
    """`text` with each finding replaced and counted.

    Of overlapping findings the first counts, then the longest, then the one that was given first; where a
    later one reaches beyond it, the rest goes too.

    Raises:
        ContractError: a span outside the text or an unusable kind.
    """
    parts: list[str] = []
    removed: Counter[str] = Counter()
    done = 0
    for start, end, kind in sorted(findings, key=lambda f: (f.start, -f.end)):
        if not 0 <= start < end <= len(text) or not _KIND.fullmatch(kind):
            raise ContractError(f"detector {detector}", f"found [{start}:{end}] of kind {kind[:40]!r}")
        if start >= done:
            parts += [text[done:start], f"[{kind.upper()}]"]
            removed[kind] += 1
        done = max(done, end)
    parts.append(text[done:])
    return Sanitized("".join(parts), removed)
