"""Every error that the product raises on purpose.

    ScrError
    ├── ConfigError          a key, flag or config file is wrong
    ├── DataError            a data file is missing or malformed (names file and line)
    ├── MissingPackageError  an optional library is not installed (names the extra)
    ├── CheckpointError      a checkpoint does not fit this version
    ├── StoreError           a store is missing, corrupt or of another version
    ├── EmbeddingError       an embedder cannot embed
    ├── LLMError             a language model failed after its retries
    ├── StageError           a stage raised; carries the stage's name
    ├── ContractError        a stage broke the stage contract: a bug in that stage
    ├── RefusedError         the question was refused (a required stage failed, nothing was left)
    ├── AccessError          the caller may not do this
    │   └── AuthenticationError  the caller does not prove who it is
    ├── BudgetError          a privacy budget is spent
    ├── OverloadError        the server is at its concurrency limit
    └── WireError            a peer's message breaks the bounds of the wire

A message is one line, names the file, line or key, and says what would be right. `str(error)` may
hold private detail; what leaves the process is the public sentence of `core.rpc`.
"""

from __future__ import annotations

from pathlib import Path


class ScrError(Exception):
    """Base of all errors raised on purpose; its message is one line for a person."""


class ConfigError(ScrError):
    """A configuration key, command-line flag or config file is wrong."""


class DataError(ScrError):
    """A data file is missing or malformed."""

    @classmethod
    def at(cls, path: Path | str, line: int | None, problem: str) -> DataError:
        """The error for `problem` at `path:line` (1-based; None where no line applies)."""
        where = f"{path}:{line}" if line is not None else f"{path}"
        return cls(f"{where}: {problem}")


class MissingPackageError(ScrError):
    """An optional library is not installed."""


class CheckpointError(ScrError):
    """A checkpoint is missing, corrupt or made for another feature schema."""


class StoreError(ScrError):
    """A store on disk is missing, corrupt or of another version."""


class EmbeddingError(ScrError):
    """An embedder is unavailable or returned unusable vectors."""


class LLMError(ScrError):
    """A language model failed after its retries; never an empty answer."""


class StageError(ScrError):
    """A required stage raised; `stage` names it."""

    def __init__(self, stage: str, message: str) -> None:
        super().__init__(f"stage {stage!r} failed: {message}")
        self.stage = stage


class ContractError(ScrError):
    """A stage broke the contract of `core.stage`; `stage` names it."""

    def __init__(self, stage: str, breach: str) -> None:
        super().__init__(f"stage {stage!r} broke its contract: {breach}")
        self.stage = stage


class RefusedError(ScrError):
    """The question was refused instead of answered."""


class AccessError(ScrError):
    """The caller is not allowed to do this."""


class AuthenticationError(AccessError):
    """The caller does not prove who it is."""


class BudgetError(ScrError):
    """The caller's privacy budget is spent."""


class OverloadError(ScrError):
    """The server is at its concurrency limit; try again later."""


class WireError(ScrError):
    """A message breaks the bounds of the wire (size, count, range, encoding).

    `kind` is the `SourceFailure.kind` that it becomes: `malformed`, or `identity` where a reply
    claims to come from another source.
    """

    def __init__(self, message: str, kind: str = "malformed") -> None:
        super().__init__(message)
        self.kind = kind
