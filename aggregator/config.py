"""Configuration of a verifying aggregator; every key is also a field of `--config FILE`."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any, Literal

from pydantic import Field, field_validator

from aggregator.quorum import OnQuorum
from core.config import StrictModel
from core.logs import LogFormat
from core.stage import Hook

AllFiltered = Literal["refuse", "unfiltered"]


class StageSpec(StrictModel):
    """One stage of the pipeline.

    `required` refuses the question where the stage fails (otherwise it abstains); `hook` None takes
    the stage's own place in the journey; `options` go to the stage's own strict configuration.
    """

    name: str = Field(min_length=1)
    required: bool = False
    hook: Hook | None = None
    options: dict[str, Any] = Field(default_factory=dict)


class AggregatorConfig(StrictModel):
    """What an aggregator is made of.

    `all_filtered` says what happens where every document was dropped: `refuse` (the answer is a
    refusal) or `unfiltered` (the reader gets all documents, and the answer carries a warning).
    `state` is the folder of reputation and trail; None keeps the reputation in memory and writes no
    trail. `checkpoint` is handed to the stage `scr`. `deadline_s` bounds a whole fan-out; within it a
    source is tried again `retries` times where it was gone or overloaded, and asked a second time after
    `hedge_after_s` seconds (None: never). `breaker_failures` failed rounds in a row (0: never) leave a
    source alone for `breaker_reset_s`. Fewer than `quorum` replies: see `on_quorum`. `operators` are the
    certified names that may change the sources while the aggregator runs.

    `dialled` names sources that connect to `accept_dialled` (HOST:PORT) instead of being dialled.
    `source_tokens`: file of tokens that sources gave to this aggregator (`aggregator.source_tokens`).
    `metrics` is HOST:PORT.
    """

    sources: dict[str, str] = Field(default_factory=dict)
    defenses: tuple[StageSpec, ...] = (StageSpec(name="scr"),)
    reader: str = "extractive"
    reader_k: int = Field(default=5, ge=1, le=100)
    llm: str | None = None
    llm_options: dict[str, Any] = Field(default_factory=dict)
    embedder: str = "minilm"
    checkpoint: Path | None = None
    state: Path | None = None
    top_k: int = Field(default=5, ge=1, le=50)
    deadline_s: float = Field(default=5.0, gt=0.0, le=600.0)
    retries: int = Field(default=2, ge=0, le=10)
    retry_backoff_s: float = Field(default=0.1, ge=0.0, le=60.0)
    hedge_after_s: float | None = Field(default=None, gt=0.0, le=600.0)
    breaker_failures: int = Field(default=5, ge=0)
    breaker_reset_s: float = Field(default=10.0, gt=0.0)
    quorum: int = Field(default=0, ge=0)
    on_quorum: OnQuorum = "warn"
    operators: tuple[str, ...] = ()
    all_filtered: AllFiltered = "refuse"
    reliability_start: float = Field(default=0.5, ge=0.0, le=1.0)
    momentum: float = Field(default=0.9, ge=0.0, lt=1.0)
    seed: int = 0
    listen: str | None = None
    tls_cert: Path | None = None
    tls_key: Path | None = None
    tls_ca: Path | None = None
    insecure: bool = False
    accept_dialled: str | None = None
    dialled: tuple[str, ...] = ()
    source_tokens: Path | None = None
    metrics: str | None = None
    log_format: LogFormat = "text"

    @field_validator("defenses", mode="before")
    @classmethod
    def _names(cls, value: Any) -> Any:
        """A bare name stands for a stage with its defaults; `none` alone for an empty pipeline."""
        if isinstance(value, str):
            value = [value]
        if not isinstance(value, list | tuple):
            return value
        specs = [{"name": item} if isinstance(item, str) else item for item in value]
        return () if specs == [{"name": "none"}] else specs

    @field_validator("sources")
    @classmethod
    def _addresses(cls, value: Mapping[str, str]) -> dict[str, str]:
        for source, address in value.items():
            if not 1 <= len(source.encode()) <= 256:
                raise ValueError("a source id must have 1 to 256 bytes")
            host, _, port = address.rpartition(":")
            if not host or not port.isdigit() or not 1 <= int(port) <= 65535:
                raise ValueError(f"address of source {source!r} must be HOST:PORT, not {address!r}")
        return dict(value)
