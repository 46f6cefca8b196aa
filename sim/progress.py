"""What a running experiment says on stderr: a bar on a terminal, plain lines elsewhere, or nothing."""

from __future__ import annotations

import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Protocol, TextIO

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

    def end(self) -> None:
        """Nothing."""

    def _write(self, line: str) -> None:
        self._stream.write(f"{line}\n")
        self._stream.flush()


class Lines(Quiet):
    """A plain line for each step, and for a count at most one every `every` seconds."""

    def __init__(self, stream: TextIO | None = None, every: float = 10.0) -> None:
        super().__init__(stream)
        self._every = every
        self._task, self._total, self._done, self._last, self._start = "", 0, 0, 0.0, 0.0

    def say(self, message: str) -> None:
        self._write(message)

    def begin(self, task: str, total: int, done: int = 0) -> None:
        self._task, self._total, self._done = task, total, done
        self._last = self._start = time.monotonic()
        self._write(f"{task}: {done}/{total}")

    def advance(self, steps: int = 1, note: str = "") -> None:
        self._done += steps
        now = time.monotonic()
        if now - self._last >= self._every and self._done < self._total:
            self._last = now
            self._write(f"{self._task}: {self._done}/{self._total}{f' ({note})' if note else ''}")

    def end(self) -> None:
        seconds = time.monotonic() - self._start
        self._write(f"{self._task}: {self._done}/{self._total}, {seconds:.1f} s")


class Bar(Quiet):
    """A rich progress bar with rate and time left."""

    def __init__(self) -> None:
        super().__init__()
        from rich.console import Console

        self._console = Console(stderr=True)
        self._bar: RichBar | None = None

    def say(self, message: str) -> None:
        self._console.print(message, style="dim", highlight=False)

    def warn(self, message: str) -> None:
        self._console.print(f"warning: {message}", style="yellow", highlight=False)

    def begin(self, task: str, total: int, done: int = 0) -> None:
        from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

        self.end()
        self._bar = Progress(
            TextColumn("{task.description}"),
            BarColumn(),
            MofNCompleteColumn(),
            TimeRemainingColumn(),
            TextColumn("{task.fields[note]}", style="dim"),
            console=self._console,
        )
        self._bar.start()
        self._bar.add_task(task, total=total, completed=done, note="")

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
