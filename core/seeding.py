"""One seed, many independent streams: every draw in the system descends from one integer."""

from __future__ import annotations

import hashlib

import numpy as np


def derive_seed(seed: int, *path: str | int) -> int:
    """A 63-bit seed that depends on `seed` and `path` only, the same on every machine."""
    text = "\x1f".join([str(seed), *map(str, path)])
    return int.from_bytes(hashlib.blake2b(text.encode(), digest_size=8).digest(), "big") >> 1


def generator(seed: int, *path: str | int) -> np.random.Generator:
    """A Generator for the stream that `path` names under `seed`."""
    return np.random.default_rng(derive_seed(seed, *path))
