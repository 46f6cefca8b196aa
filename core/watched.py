"""A value read from files, read again when they change: no restart, and no half-written file takes over."""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Generic, TypeVar

from core.errors import ScrError

_LOG = logging.getLogger(__name__)
_Value = TypeVar("_Value")
_Stamp = tuple[tuple[int, int, int], ...]


class Watched(Generic[_Value]):
    """The latest good value of `read`; safe for threads.

    Where the files change and cannot be read, the value before stays, and the log says why, once for
    each change.

    Args:
        paths: the files that decide.
        read: reads them; called at once, and again after a change.
        every_s: files are looked at no more often than this; 0 looks at every `get`.

    Raises:
        ScrError: what `read` raises the first time.
    """

    def __init__(self, paths: Sequence[Path], read: Callable[[], _Value], every_s: float = 1.0) -> None:
        self._paths = tuple(paths)
        self._read = read
        self._every_s = every_s
        self._lock = threading.Lock()
        self._stamp = self._stamped()
        self._looked = time.monotonic()
        self._value = read()

    def get(self) -> _Value:
        """The value of the moment."""
        with self._lock:
            now = time.monotonic()
            if now - self._looked >= self._every_s:
                self._looked = now
                self._look()
            return self._value

    def _look(self) -> None:
        stamp = self._stamped()
        if stamp == self._stamp:
            return
        self._stamp = stamp
        try:
            self._value = self._read()
        except ScrError as error:
            _LOG.error("what was read before stays in force: %s", error)
        else:
            _LOG.info("read again: %s", ", ".join(map(str, self._paths)))

    def _stamped(self) -> _Stamp:
        return tuple(_stamp(path) for path in self._paths)


def _stamp(path: Path) -> tuple[int, int, int]:
    try:
        found = path.stat()
    except OSError:
        return (0, 0, 0)
    return (found.st_ino, found.st_mtime_ns, found.st_size)
