"""The verifying aggregator: asks every source, judges what comes back, answers from what survives."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from aggregator.aggregator import Aggregator

__all__ = ["Aggregator"]


def __getattr__(name: str) -> Any:
    if name == "Aggregator":
        from aggregator.aggregator import Aggregator

        return Aggregator
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
