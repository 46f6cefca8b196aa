"""Beliefs about sources as bytes, and as beliefs about another set of sources."""

from __future__ import annotations

import io
import json
import zipfile

import numpy as np
from numpy.typing import NDArray

from core.errors import StoreError
from gnn.inference.source_filter import SourceBeliefs, SourceFilter
from gnn.inference.suspicion import LEVELS, NEAR

_VERSION = 5


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
            if header["version"] not in (_VERSION, 4, 3):
                raise StoreError(f"source beliefs have version {header['version']}, this is {_VERSION}")
            sources = tuple(header["sources"])
            log_mass, levels = arrays["log_mass"], arrays["levels"]
            if header["version"] == 3:  # content levels were counted of all sources together
                levels = np.tile(levels / max(1, len(sources)), (len(sources), 1))
            if header["version"] < _VERSION:
                log_mass, levels = _by_present_ways(log_mass), np.insert(levels, NEAR, 0.0, axis=1)
            return SourceBeliefs(sources, arrays["labelings"], log_mass, header["rounds"], levels)
    except (ValueError, KeyError, OSError, EOFError, zipfile.BadZipFile) as error:
        raise StoreError(f"stored source beliefs are unreadable: {error}") from None


def _by_present_ways(log_mass: NDArray[np.float64]) -> NDArray[np.float64]:
    """(k, c) log mass by the ways of lying of today, from the three rates of noise of versions 3 and 4.

    What was believed about who lies is kept; how they lie is taken afresh.
    """
    row = np.logaddexp.reduce(log_mass, axis=1, keepdims=True)
    return np.asarray(row + SourceFilter().way_prior())


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
    levels = np.array([seen.get(name, np.zeros(LEVELS)) for name in sources]).reshape(len(sources), LEVELS)
    return SourceBeliefs(sources, fresh.labelings, log_mass - log_mass.max(), beliefs.rounds, levels)
