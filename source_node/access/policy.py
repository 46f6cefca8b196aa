"""The policy file of a node: its callers by name, and what each may do."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from pydantic import Field, field_validator

from core.bounds import MAX_DOCUMENTS
from core.config import StrictModel, load


class Rate(StrictModel):
    """A token bucket: `per_second` requests in the long run, `burst` of them at once."""

    per_second: float = Field(gt=0, le=1e6)
    burst: int = Field(default=10, ge=1, le=1_000_000)


class CallerRule(StrictModel):
    """What one caller may do; what is left out is not limited.

    `top_k`: most documents in a reply. `categories`: only documents of these leave, and none without a
    category. `rate`: a number of requests a second, or `{per_second, burst}`. `epsilon_budget`: privacy
    budget in place of the node's own; such a caller gets private answers only, also where it asks for
    no privacy, and none any more once the budget is spent.
    """

    top_k: int = Field(default=MAX_DOCUMENTS, ge=1, le=MAX_DOCUMENTS)
    categories: frozenset[str] | None = None
    rate: Rate | None = None
    epsilon_budget: float | None = Field(default=None, gt=0)

    @field_validator("rate", mode="before")
    @classmethod
    def _number(cls, value: Any) -> Any:
        plain = isinstance(value, int | float) and not isinstance(value, bool)
        return {"per_second": value} if plain else value


class AccessPolicy(StrictModel):
    """All callers of a node; whoever is not named here is refused.

    A name is what `core.tls.peer_identity` finds in the caller's certificate (or the name of its token),
    without regard to case; `(anonymous)` is whoever has none, on a node without TLS.
    """

    callers: dict[str, CallerRule]

    @field_validator("callers", mode="before")
    @classmethod
    def _named(cls, value: Any) -> Any:
        if not isinstance(value, dict):
            return value
        lowered = [str(name).lower() for name in value]
        for name in value:
            if not str(name).strip():
                raise ValueError("a caller needs a name")
            if lowered.count(str(name).lower()) > 1:
                raise ValueError(f"caller {name!r} stands there twice (case does not count)")
        return {str(name): {} if rule is None else rule for name, rule in value.items()}


def read_policy(path: Path) -> AccessPolicy:
    """The policy in the YAML file `path`.

    Raises:
        ConfigError: missing, broken, or with a wrong key or value.
    """
    return load(AccessPolicy, path)
