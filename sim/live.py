"""Which sources of a running experiment are up, and the view of it on a terminal."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from rich.console import Console, RenderableType
    from rich.progress import Progress

_MOST_NAMED = 8  # sources down that are named one by one


class SourceWatch:
    """Follows the sources round by round.

    `down` maps a source that gave nothing in the last round to why; `failures` counts all by kind.
    """

    def __init__(self) -> None:
        self.down: dict[str, str] = {}
        self.failures: Counter[str] = Counter()
        self.total = 0

    def see(self, states: Mapping[str, str | None]) -> list[str]:
        """One more round: source -> kind of its failure, None where it answered; returns what changed."""
        changes = []
        for source, kind in states.items():
            if kind is not None:
                self.failures[kind] += 1
            if kind is not None and source not in self.down:
                changes.append(f"{source} is down ({kind})")
            elif kind is None and source in self.down:
                changes.append(f"{source} is up again")
        self.down = {source: kind for source, kind in states.items() if kind is not None}
        self.total = len(states)
        return changes

    def lines(self) -> list[str]:
        """The state of the sources in at most two lines; none before the first round."""
        if not self.total:
            return []
        told = f"sources: {self.total - len(self.down)} of {self.total} up"
        if self.down:
            named = [f"{source} ({kind})" for source, kind in sorted(self.down.items())]
            more = len(named) - _MOST_NAMED
            told += ", down: " + ", ".join(named[:_MOST_NAMED]) + (f" and {more} more" if more > 0 else "")
        if not self.failures:
            return [told]
        counts = ", ".join(f"{kind} {count}" for kind, count in sorted(self.failures.items()))
        return [told, f"failures so far: {counts}"]


def open_view(console: Console, watch: SourceWatch) -> Progress:
    """A rich progress bar with count, rate and time left, and the sources' state below it."""
    from rich.progress import (
        BarColumn,
        MofNCompleteColumn,
        Progress,
        ProgressColumn,
        Task,
        TextColumn,
        TimeElapsedColumn,
        TimeRemainingColumn,
    )
    from rich.text import Text

    class Rate(ProgressColumn):
        def render(self, task: Task) -> Text:
            speed = task.finished_speed or task.speed
            return Text("" if speed is None else f"{speed:.1f}/s", style="progress.data.speed")

    class View(Progress):
        def get_renderables(self) -> Iterable[RenderableType]:
            yield self.make_tasks_table(self.tasks)
            for line in watch.lines():
                yield Text(line, style="yellow" if watch.down else "dim")

    return View(
        TextColumn("{task.description}"),
        BarColumn(),
        MofNCompleteColumn(),
        Rate(),
        TextColumn("elapsed"),
        TimeElapsedColumn(),
        TextColumn("left"),
        TimeRemainingColumn(),
        TextColumn("{task.fields[note]}", style="dim"),
        console=console,
    )
