"""Streams of queries: benign users, and attackers who spread, burst or mix their probes among them.

A stream is plain data with its own clock, so it can be recorded, replayed against any policy and
compared: the same seed gives the same stream, the same file the same decisions.
"""

from __future__ import annotations

import heapq
import json
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from core.errors import ConfigError, DataError
from core.paths import write_atomic
from core.seeding import generator

BENIGN = "benign"
KINDS = (BENIGN, "membership", "leakage", "injection", "poisoning")
ProbeMaker = Callable[[np.random.Generator], tuple[str, str]]


@dataclass(frozen=True, slots=True)
class Event:
    """One query of a stream: when (seconds from its start), who, what, and what it really is."""

    time: float
    user_id: str
    text: str
    kind: str = BENIGN
    extra: Mapping[str, str] = field(default_factory=dict)


def benign_stream(
    questions: Sequence[str], n: int, user_id: str, interval: float, rng: np.random.Generator
) -> Iterator[Event]:
    """`n` questions of one honest user at exponential intervals of mean `interval` seconds.

    One in ten is a follow-up that repeats most of the question before: honest users do that.
    """
    now, last = 0.0, ""
    for i in range(n):
        now += float(rng.exponential(interval))
        if last and rng.random() < 0.1:
            text = f"{last.rstrip(' ?')} and why?"
        else:
            text = questions[int(rng.integers(len(questions)))] if i else questions[0]
        last = text
        yield Event(now, user_id, text)


def slow_burn(
    questions: Sequence[str],
    probes: ProbeMaker,
    n: int,
    user_id: str,
    interval: float,
    rng: np.random.Generator,
    share: float = 0.15,
) -> Iterator[Event]:
    """`n` queries like an honest user's, of which a `share` at random places are probes."""
    for event in benign_stream(questions, n, user_id, interval, rng):
        yield _probe(event, probes, rng) if rng.random() < share else event


def burst(
    questions: Sequence[str],
    probes: ProbeMaker,
    n: int,
    user_id: str,
    interval: float,
    rng: np.random.Generator,
    length: int = 20,
) -> Iterator[Event]:
    """Honest at first; then, from a random moment on, `length` probes at machine speed, then honest again."""
    start = int(rng.integers(max(1, n - length)))
    late = 0.0
    for i, event in enumerate(benign_stream(questions, n, user_id, interval, rng)):
        if start <= i < start + length:
            late = late or event.time
            late += 0.02
            yield _probe(Event(late, user_id, ""), probes, rng)
        else:
            yield Event(max(event.time, late), user_id, event.text)


def multi_vector(
    questions: Sequence[str],
    probes: ProbeMaker,
    n: int,
    user_id: str,
    interval: float,
    rng: np.random.Generator,
    share: float = 0.5,
) -> Iterator[Event]:
    """Probes of every kind that `probes` makes, mixed half and half with honest questions."""
    yield from slow_burn(questions, probes, n, user_id, interval, rng, share)


STREAMS: dict[str, Callable[..., Iterator[Event]]] = {
    "slow-burn": slow_burn,
    "burst": burst,
    "multi-vector": multi_vector,
}


def make_traffic(
    behavior: str,
    questions: Sequence[str],
    probes: Sequence[tuple[str, str]],
    *,
    n: int = 200,
    benign_users: int = 1,
    interval: float = 30.0,
    seed: int = 0,
) -> list[Event]:
    """One attacker ("mallory") behaving as `behavior` and honest users of the same rate, interleaved.

    Args:
        questions: what honest users ask.
        probes: (kind, text) that the attacker draws from.
        n: queries of each user.
        interval: mean seconds between two queries of one user.

    Raises:
        ConfigError: unknown behaviour, or nothing to ask.
    """
    if behavior not in STREAMS:
        raise ConfigError(f"unknown query behavior {behavior!r}; known: {', '.join(sorted(STREAMS))}")
    if not questions or not probes:
        raise ConfigError("traffic needs at least one question and one probe")

    def draw(rng: np.random.Generator) -> tuple[str, str]:
        return probes[int(rng.integers(len(probes)))]

    attack = STREAMS[behavior](questions, draw, n, "mallory", interval, generator(seed, "traffic", behavior))
    honest = [
        benign_stream(questions, n, f"user-{i}", interval, generator(seed, "traffic", "benign", i))
        for i in range(benign_users)
    ]
    return list(heapq.merge(attack, *honest, key=lambda event: (event.time, event.user_id)))


def batch_job(questions: Sequence[str], user_id: str = "batch", interval: float = 0.005) -> list[Event]:
    """Every question once at machine speed: fast, and no attack."""
    return [Event(i * interval, user_id, text) for i, text in enumerate(questions)]


def write_traffic(events: Iterable[Event], path: Path) -> None:
    """Record `events` as JSON lines, whole or not at all."""
    write_atomic(path, "".join(json.dumps(asdict(event), ensure_ascii=False) + "\n" for event in events))


def read_traffic(path: Path) -> list[Event]:
    """The recorded events in `path`.

    Raises:
        DataError: missing file, or a line that is no event (names the line).
    """
    try:
        lines = path.read_text(encoding="utf-8").splitlines()
    except (OSError, UnicodeDecodeError) as error:
        raise DataError(f"{path}: cannot be read: {error}") from None
    return [_parse(path, number, line) for number, line in enumerate(lines, start=1) if line.strip()]


def _parse(path: Path, number: int, line: str) -> Event:
    try:
        values: dict[str, Any] = json.loads(line)
        event = Event(
            float(values["time"]),
            str(values["user_id"]),
            str(values["text"]),
            str(values.get("kind", BENIGN)),
            dict(values.get("extra", {})),
        )
    except (ValueError, TypeError, KeyError) as error:
        raise DataError.at(path, number, f"not an event (time, user_id, text, kind): {error}") from None
    if event.kind not in KINDS:
        raise DataError.at(path, number, f"kind must be one of {', '.join(KINDS)}, not {event.kind!r}")
    return event


def _probe(event: Event, probes: ProbeMaker, rng: np.random.Generator) -> Event:
    kind, text = probes(rng)
    return Event(event.time, event.user_id, text, kind)
