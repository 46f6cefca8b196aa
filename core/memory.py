"""The memory of this process: how much it holds, a limit above which it takes no more work, its collector."""

from __future__ import annotations

import gc
import os
import threading
import time
from pathlib import Path

from core.errors import ConfigError, OverloadError

_STATM = Path("/proc/self/statm")


def resident_bytes() -> int:
    """Resident memory of this process in bytes; its peak where the system does not tell the present."""
    try:
        return int(_STATM.read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE")
    except OSError:
        import resource

        return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024


def settle() -> None:
    """Take what is loaded now for lasting: the collector looks at later objects alone.

    A full collection walks every object of the loaded libraries, a tenth of a second and more in the
    middle of some request. For a process that has loaded what it serves with.
    """
    gc.collect()
    gc.freeze()


class MemoryLimit:
    """Refuses work while the process holds more than `limit` bytes; safe for threads.

    The process looks at most four times a second.

    Raises:
        ConfigError: the process holds more than that already.
    """

    def __init__(self, limit: int) -> None:
        self.limit = limit
        self._lock = threading.Lock()
        self._looked, self._held = time.monotonic(), resident_bytes()
        if self._held > limit:
            raise ConfigError(
                f"memory limit: {limit >> 20} MiB are below what is held at rest, {self._held >> 20} MiB"
            )

    def check(self) -> None:
        """Nothing, or OverloadError."""
        with self._lock:
            now = time.monotonic()
            if now - self._looked >= 0.25:
                self._looked, self._held = now, resident_bytes()
            held = self._held
        if held > self.limit:
            raise OverloadError(f"{held >> 20} MiB are held, the limit is {self.limit >> 20} MiB")
