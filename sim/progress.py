"""What a running experiment says on stderr: a live view on a terminal, plain lines elsewhere, or nothing."""

from __future__ import annotations

import sys
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import TYPE_CHECKING, Protocol, TextIO

from sim.live import SourceWatch, open_view

if TYPE_CHECKING:
    from rich.progress import Progress as RichBar


class Progress(Protocol):
    """Where an experiment reports to."""

    def say(self, message: str) -> None:
        """A step of the set-up."""

    def warn(self, message: str) -> None:
        """Something the person should know; shown even when quiet."""

    def begin(self, task: str, total: int, done: int = 0) -> None:
        """A count of `total` things starts, `done` of them from an earlier run."""

    def advance(self, steps: int = 1, note: str = "") -> None:
        """`steps` more are done."""

    def watch(self, states: Mapping[str, str | None]) -> None:
        """The sources in the round just done: the kind of each one's failure, None where it answered."""

    def end(self) -> None:
        """The count is over."""


class Quiet:
    """Warnings only."""

    def __init__(self, stream: TextIO | None = None) -> None:
        self._stream = stream if stream is not None else sys.stderr

    def say(self, message: str) -> None:
        """Nothing."""

    def warn(self, message: str) -> None:
        self._write(f"warning: {message}")

    def begin(self, task: str, total: int, done: int = 0) -> None:
        """Nothing."""

    def advance(self, steps: int = 1, note: str = "") -> None:
        """Nothing."""

    def watch(self, states: Mapping[str, str | None]) -> None:
        """Nothing."""

    def end(self) -> None:
        """Nothing."""

    def _write(self, line: str) -> None:
        self._stream.write(f"{line}\n")
        self._stream.flush()


class Lines(Quiet):
    """A plain line for each step and each source that goes or comes; a count tells every `every` seconds."""

    def __init__(self, stream: TextIO | None = None, every: float = 10.0) -> None:
        super().__init__(stream)
        self._every = every
        self._sources = SourceWatch()
        self._task, self._total, self._done, self._before, self._last, self._start = "", 0, 0, 0, 0.0, 0.0

    def say(self, message: str) -> None:
        self._write(message)

    def begin(self, task: str, total: int, done: int = 0) -> None:
        self._task, self._total, self._done, self._before = task, total, done, done
        self._last = self._start = time.monotonic()
        self._write(f"{task}: {done}/{total}")

    def advance(self, steps: int = 1, note: str = "") -> None:
        self._done += steps
        now = time.monotonic()
        if now - self._last >= self._every and self._done < self._total:
            self._last = now
            rate = (self._done - self._before) / max(now - self._start, 1e-9)
            left = f"{rate:.1f}/s, {(self._total - self._done) / max(rate, 1e-9):.0f} s left"
            told = f"{left}, {note}" if note else left
            self._write(f"{self._task}: {self._done}/{self._total} ({told})")

    def watch(self, states: Mapping[str, str | None]) -> None:
        for change in self._sources.see(states):
            self._write(change)

    def end(self) -> None:
        seconds = time.monotonic() - self._start
        self._write(f"{self._task}: {self._done}/{self._total}, {seconds:.1f} s")


class Bar(Quiet):
    """A live view: a bar with rate and time left, the sources' state below it."""

    def __init__(self) -> None:
        super().__init__()
        from rich.console import Console

        self._console = Console(stderr=True)
        self._bar: RichBar | None = None
        self._sources = SourceWatch()

    def say(self, message: str) -> None:
        self._console.print(message, style="dim", highlight=False)

    def warn(self, message: str) -> None:
        self._console.print(f"warning: {message}", style="yellow", highlight=False)

    def begin(self, task: str, total: int, done: int = 0) -> None:
        self.end()
        self._bar = open_view(self._console, self._sources)
        self._bar.start()
        self._bar.add_task(task, total=total, completed=done, note="")

    def watch(self, states: Mapping[str, str | None]) -> None:
        for change in self._sources.see(states):
            self.say(change)

    def advance(self, steps: int = 1, note: str = "") -> None:
        if self._bar is not None:
            self._bar.update(self._bar.tasks[0].id, advance=steps, note=note)

    def end(self) -> None:
        if self._bar is not None:
            self._bar.stop()
            self._bar = None


def open_progress(quiet: bool = False) -> Progress:
    """What fits stderr: `Quiet`, a `Bar` on a terminal, else `Lines`."""
    if quiet:
        return Quiet()
    return Bar() if sys.stderr.isatty() else Lines()


@contextmanager
def counting(progress: Progress, task: str, total: int, done: int = 0) -> Iterator[None]:
    """Begin a count on `progress` and end it, also after an error."""
    progress.begin(task, total, done)
    try:
        yield
    finally:
        progress.end()
