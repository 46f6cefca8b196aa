"""The folder of one run: settings, rounds as they come, results; a run that was cut off goes on in it.

    OUT/config.yaml           the resolved settings
    OUT/rounds.jsonl          one line a round of the chosen defense
    OUT/texts.jsonl           the text behind every text_hash of the rounds
    OUT/shards.json           what each source holds, by category
    OUT/metrics.json          design 5.2
    OUT/comparison.json       the comparison table
    OUT/arms/ARM.jsonl        the rounds of the comparison's other arms
    OUT/state/                what a resumed run needs: settings' identity, reputations, a lock

A round is on disk before the next one begins: first the reputations after it and its texts, then its line
in every other arm's file, then its line in rounds.jsonl. A run resumes after the last whole line of
rounds.jsonl, whatever was being written when it was cut off.
"""

from __future__ import annotations

import fcntl
import json
import shutil
import sqlite3
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import IO, Any

from core.errors import ConfigError, StoreError
from core.paths import write_atomic
from sim.round_record import RoundRecord
from sim.texts import NAME as TEXTS
from sim.texts import TextLog


class RunFolder:
    """Rounds and results of one run below `root`; everything in memory where `root` is None.

    Args:
        root: the folder, made if missing.
        main: name of the arm whose rounds are `rounds.jsonl`.
        arms: names of all arms.
        identity: what decides the results; rounds of another identity are not re-used.
        fresh: remove an earlier run instead of going on with it.

    Raises:
        ConfigError: the folder holds a run of other settings, or is no folder.
        StoreError: another run is writing to the folder, or it cannot be written.
        DataError: the rounds in the folder are not readable.
    """

    def __init__(
        self,
        root: Path | None,
        main: str,
        arms: Sequence[str],
        identity: Mapping[str, Any],
        fresh: bool = False,
    ) -> None:
        self.root = root
        self.main = main
        self._arms = tuple(arms)
        self._identity = json.loads(json.dumps(identity))
        self._lock: IO[str] | None = None
        self._texts: TextLog | None = None
        self.rounds: dict[str, list[RoundRecord]] = {arm: [] for arm in arms}
        if root is not None:
            self._open(root, fresh)

    @property
    def done(self) -> int:
        """How many rounds of every arm are there."""
        return len(self.rounds[self.main])

    def add(
        self, records: Mapping[str, RoundRecord], reputations: Mapping[str, Path], texts: Iterable[str] = ()
    ) -> None:
        """Store one round of every arm; `reputations` are the SQLite files as they are after it.

        `texts` are those of all its documents.
        """
        number = self.done + 1
        if self.root is not None:
            for arm, path in reputations.items():
                _copy_database(path, self._snapshot(arm, number))
            if self._texts is not None:
                self._texts.add(texts)
            for arm in sorted(self._arms, key=lambda name: name == self.main):
                with self._file(arm).open("a", encoding="utf-8") as file:
                    file.write(records[arm].to_line() + "\n")
            for arm in reputations:
                self._snapshot(arm, number - 1).unlink(missing_ok=True)
        for arm, record in records.items():
            self.rounds[arm].append(record)

    def reputation_file(self, arm: str, trial: int) -> Path | None:
        """Where the reputation of `arm` lives while it runs; None keeps it in memory."""
        return None if self.root is None else self.root / "state" / f"{arm}-trial{trial}.sqlite"

    def restore(self, arm: str, trial: int) -> None:
        """Put the reputation as it was after the last stored round where `reputation_file` says.

        Raises:
            StoreError: it is not there.
        """
        target = self.reputation_file(arm, trial)
        if target is None:
            return
        source = self._snapshot(arm, self.done)
        if not source.is_file():
            raise StoreError(f"{source}: missing, the run cannot go on from there; use --fresh")
        self.forget(arm, trial)
        _copy_database(source, target)

    def forget(self, arm: str, trial: int) -> None:
        """Remove the working reputation of a trial."""
        target = self.reputation_file(arm, trial)
        for suffix in ("", "-wal", "-shm"):
            if target is not None:
                target.with_name(target.name + suffix).unlink(missing_ok=True)

    def write(self, name: str, content: Mapping[str, Any] | str) -> None:
        """Write a result file whole."""
        if self.root is not None:
            text = content if isinstance(content, str) else json.dumps(content, indent=2, ensure_ascii=False)
            write_atomic(self.root / name, text.rstrip("\n") + "\n")

    def path(self, name: str) -> Path | None:
        """Where the result file `name` is, or would be; None without a folder."""
        return None if self.root is None else self.root / name

    def finish(self) -> None:
        """Remove what only a run that goes on would need."""
        if self.root is not None:
            for path in (self.root / "state").glob("*.sqlite*"):
                path.unlink()

    def close(self) -> None:
        """Release the folder."""
        if self._lock is not None:
            self._lock.close()
            self._lock = None

    def _open(self, root: Path, fresh: bool) -> None:
        try:
            (root / "state").mkdir(parents=True, exist_ok=True)
            (root / "arms").mkdir(exist_ok=True)
            self._lock = (root / "state" / "lock").open("w")
        except (FileExistsError, NotADirectoryError):
            raise ConfigError(f"--out {root}: is a file, not a folder") from None
        except OSError as error:
            raise StoreError(f"--out {root}: cannot be written ({error.strerror})") from None
        try:
            fcntl.flock(self._lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            self.close()
            raise StoreError(f"--out {root}: another run is writing there") from None
        try:
            if fresh:
                self._clear(root)
            self._check_identity(root)
            self._load()
            self._texts = TextLog(root / TEXTS)
        except BaseException:
            self.close()
            raise

    def _check_identity(self, root: Path) -> None:
        path = root / "state" / "run.json"
        if not path.exists():
            if (root / "rounds.jsonl").exists():
                raise ConfigError(
                    f"--out {root}: holds rounds of an unknown run; choose another folder or --fresh"
                )
            write_atomic(path, json.dumps(self._identity, indent=2))
            return
        try:
            earlier = json.loads(path.read_text(encoding="utf-8"))
        except (OSError, ValueError):
            raise StoreError(f"{path}: unreadable; use --fresh to start anew") from None
        keys = [key for key in {**earlier, **self._identity} if earlier.get(key) != self._identity.get(key)]
        if keys:
            changes = "; ".join(
                f"{k}: {earlier.get(k)!r} then, {self._identity.get(k)!r} now" for k in keys[:3]
            )
            raise ConfigError(
                f"--out {root}: holds a run of other settings ({changes}); choose another folder or --fresh"
            )

    def _load(self) -> None:
        """Read the rounds of earlier attempts and cut every file back to what rounds.jsonl has whole."""
        lines = {arm: _whole_lines(self._file(arm)) for arm in self._arms}
        count = min(map(len, lines.values()))
        for arm in self._arms:
            path = self._file(arm)
            kept = lines[arm][:count]
            self.rounds[arm] = [RoundRecord.from_line(line, f"{path}:{i}") for i, line in enumerate(kept, 1)]
            if path.exists():
                with path.open("r+b") as file:
                    file.truncate(sum(len(line.encode("utf-8")) + 1 for line in kept))

    def _clear(self, root: Path) -> None:
        for folder in ("state", "arms"):
            for path in (root / folder).iterdir():
                if path.name != "lock" and path.is_file():
                    path.unlink()
        for name in ("rounds.jsonl", TEXTS, "shards.json", "metrics.json", "comparison.json", "config.yaml"):
            (root / name).unlink(missing_ok=True)

    def _file(self, arm: str) -> Path:
        assert self.root is not None  # narrows the type: only called with a folder
        return self.root / "rounds.jsonl" if arm == self.main else self.root / "arms" / f"{arm}.jsonl"

    def _snapshot(self, arm: str, number: int) -> Path:
        assert self.root is not None
        return self.root / "state" / f"{arm}-after{number}.sqlite"


def _whole_lines(path: Path) -> list[str]:
    """The lines of `path` that end in a newline; none where the file is missing."""
    if not path.exists():
        return []
    *whole, _torn = path.read_bytes().split(b"\n")
    return [line.decode("utf-8", "replace") for line in whole]


def _copy_database(source: Path, target: Path) -> None:
    """A consistent copy of a SQLite file that may be open elsewhere, whole or not there at all."""
    temporary = target.with_name(f".{target.name}")
    temporary.unlink(missing_ok=True)
    reading, writing = sqlite3.connect(source), sqlite3.connect(temporary)
    try:
        reading.backup(writing)
    finally:
        reading.close()
        writing.close()
    shutil.move(temporary, target)
