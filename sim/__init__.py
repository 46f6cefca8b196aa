"""Federated experiments: sources on Ray, attacks, defenses, measurements."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from sim.config import RunConfig
    from sim.experiment import RunResult, run_experiment

__all__ = ["RunConfig", "RunResult", "run_experiment"]
_HOMES = {"RunConfig": "sim.config", "RunResult": "sim.experiment", "run_experiment": "sim.experiment"}


def __getattr__(name: str) -> Any:
    """Load a public name when it is first asked for, so that `import sim` costs nothing."""
    if name not in _HOMES:
        raise AttributeError(f"module 'sim' has no attribute {name!r}")
    import importlib

    return getattr(importlib.import_module(_HOMES[name]), name)
