"""The aggregator's state folder: one SQLite file for what it remembers, and the trail."""

from __future__ import annotations

import logging
from pathlib import Path

from defenses.ado.trust import TrustConfig, TrustStore

_LOG = logging.getLogger(__name__)
_TRUST_ALONE = "trust.sqlite"  # where trust was kept before it joined the other tables


def database_path(state: Path | None) -> Path | None:
    """The one file of reliability, trust and roster, each in tables of its own; None for memory."""
    return None if state is None else state / "reputation.sqlite"


def trail_path(state: Path) -> Path:
    """The trails of all rounds, one line each."""
    return state / "trail.jsonl"


def tokens_path(state: Path) -> Path:
    """Tokens that an operator brought for sources, in a file that only its owner reads."""
    return state / "source-tokens.yaml"


def has_state(state: Path) -> bool:
    """Whether an aggregator has kept anything in the folder `state`."""
    return any((state / name).is_file() for name in ("reputation.sqlite", _TRUST_ALONE))


def open_trust(state: Path | None, config: TrustConfig | None = None) -> TrustStore:
    """The users' trust; a store of its own from an earlier version is taken in once.

    Raises:
        StoreError: a file is no trust store.
    """
    store = TrustStore(database_path(state), config)
    alone = None if state is None else state / _TRUST_ALONE
    if alone is not None and alone.is_file():
        taken = store.absorb(alone)
        alone.rename(alone.with_name(f"{_TRUST_ALONE}.taken-in"))
        _LOG.warning("%s: trust of %d users taken into %s", alone, taken, store.path)
    return store
