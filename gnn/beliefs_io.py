"""Beliefs about sources as bytes, and as beliefs about another set of sources."""

from __future__ import annotations

import io
import json
import zipfile

import numpy as np

from core.errors import StoreError
from gnn.inference.source_filter import SourceBeliefs, SourceFilter

_VERSION = 4
_SHARED_LEVELS = 3  # the version before counted content levels of all sources together


def to_bytes(beliefs: SourceBeliefs) -> bytes:
    """Portable form of `beliefs` (npz)."""
    buffer = io.BytesIO()
    header = json.dumps({"version": _VERSION, "sources": beliefs.sources, "rounds": beliefs.rounds})
    np.savez(
        buffer,
        header=np.frombuffer(header.encode(), dtype=np.uint8),
        labelings=beliefs.labelings,
        log_mass=beliefs.log_mass,
        levels=beliefs.levels,
    )
    return buffer.getvalue()


def from_bytes(data: bytes) -> SourceBeliefs:
    """Inverse of `to_bytes`.

    Raises:
        StoreError: not beliefs, or of another version.
    """
    try:
        with np.load(io.BytesIO(data), allow_pickle=False) as arrays:
            header = json.loads(arrays["header"].tobytes())
            if header["version"] not in (_VERSION, _SHARED_LEVELS):
                raise StoreError(f"source beliefs have version {header['version']}, this is {_VERSION}")
            sources = tuple(header["sources"])
            levels = arrays["levels"]
            if header["version"] == _SHARED_LEVELS:
                levels = np.tile(levels / max(1, len(sources)), (len(sources), 1))
            return SourceBeliefs(sources, arrays["labelings"], arrays["log_mass"], header["rounds"], levels)
    except (ValueError, KeyError, OSError, EOFError, zipfile.BadZipFile) as error:
        raise StoreError(f"stored source beliefs are unreadable: {error}") from None


def about(beliefs: SourceBeliefs, sources: tuple[str, ...], source_filter: SourceFilter) -> SourceBeliefs:
    """`beliefs` carried over to `sources`: known sources keep their odds, new ones start at `prior_liar`.

    What was known jointly is kept only while the set stays the same; a changed set keeps the marginals.
    """
    if beliefs.sources == sources:
        return beliefs
    fresh = source_filter.start(sources)
    known = dict(zip(beliefs.sources, beliefs.honest, strict=True))
    prior = source_filter.config.prior_liar
    honest = np.clip([known.get(name, 1 - prior) for name in sources], 1e-6, 1 - 1e-6)
    odds = np.log((1 - honest) / honest)
    columns = np.log(np.maximum(beliefs.mass.sum(axis=0), 1e-12))
    log_mass = (fresh.labelings @ odds)[:, None] + columns
    seen = dict(zip(beliefs.sources, beliefs.levels, strict=True))
    levels = np.array([seen.get(name, np.zeros(3)) for name in sources]).reshape(len(sources), 3)
    return SourceBeliefs(sources, fresh.labelings, log_mass - log_mass.max(), beliefs.rounds, levels)
