"""How many sources must reply before an answer is worth giving."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from core.errors import ConfigError, RefusedError

OnQuorum = Literal["answer", "warn", "refuse"]
TOO_FEW = "Too few sources replied, so the question is not answered."


@dataclass(frozen=True)
class Quorum:
    """At least `needed` sources must reply; `otherwise` says what happens where fewer do.

    `answer` goes on without a word, `warn` puts a warning on the answer, `refuse` refuses the question.

    Raises:
        ConfigError: `needed` is below 0 or `otherwise` unknown.
    """

    needed: int = 0
    otherwise: OnQuorum = "warn"

    def __post_init__(self) -> None:
        if self.needed < 0:
            raise ConfigError(f"quorum must be at least 0, not {self.needed}")
        if self.otherwise not in ("answer", "warn", "refuse"):
            raise ConfigError(f"on_quorum must be answer, warn or refuse, not {self.otherwise!r}")

    def warning(self, replied: int) -> str | None:
        """What the asker must be told of a round in which `replied` sources replied.

        Raises:
            RefusedError: too few, and that is a reason to refuse.
        """
        if replied >= self.needed or self.otherwise == "answer":
            return None
        if self.otherwise == "refuse":
            raise RefusedError(TOO_FEW)
        return f"only {replied} sources replied, fewer than the quorum of {self.needed}"
