"""Spreads documents over sources, unevenly by category (Dirichlet), each document on R distinct sources."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from itertools import combinations

import numpy as np
from numpy.typing import NDArray

from core.errors import ConfigError, DataError

Members = NDArray[np.int64]
_CHUNK = 50_000  # rows of noise drawn at once, to bound memory at a million documents


@dataclass(frozen=True)
class SkewReport:
    """How uneven a partition came out.

    `sizes` documents per source; `category_entropy` in bits per source; `mean_divergence` is the mean
    Jensen-Shannon divergence between the category mixes of two sources, in [0,1].
    """

    n_documents: int
    n_sources: int
    n_categories: int
    alpha: float
    replication: int
    sizes: tuple[int, ...]
    category_entropy: tuple[float, ...]
    mean_divergence: float


@dataclass(frozen=True)
class Partition:
    """`members[j]`: sorted indices of the documents that source j holds."""

    members: list[Members]
    report: SkewReport

    def holders(self) -> Members:
        """(n_documents,) how many sources hold each document."""
        counts = np.zeros(self.report.n_documents, dtype=np.int64)
        for held in self.members:
            counts[held] += 1
        return counts


def partition(
    labels: Sequence[Hashable],
    n_sources: int,
    alpha: float,
    replication: int,
    rng: np.random.Generator,
    min_size: int = 1,
    groups: Sequence[int] | None = None,
) -> Partition:
    """Documents over `n_sources`: shares of each category drawn from Dirichlet(alpha), R distinct holders.

    With `groups` the documents of a group are wordings of the same facts: they go to R distinct
    sources, one each where a group has R wordings, shared out where it has more, copied where fewer.
    Every document has at least one holder; sources below `min_size` are filled from the largest ones.

    Raises:
        DataError: more sources than documents, or too few documents for `min_size` at each source.
        ConfigError: alpha, replication or min_size out of range.
    """
    n = len(labels)
    _check(n, n_sources, alpha, replication, min_size)
    codes = _codes(labels)
    units = np.arange(n) if groups is None else _codes(groups)
    first = np.unique(units, return_index=True)[1]
    chosen = _draw(codes[first], n_sources, alpha, replication, rng)
    held = _place(units, chosen, n_sources)
    _fill(held, units, min_size, rng)
    members = [np.array(sorted(documents), dtype=np.int64) for documents in held]
    return Partition(members, _report(members, codes, alpha, replication))


def cluster_labels(vectors: NDArray[np.float32], n_clusters: int, seed: int) -> NDArray[np.int64]:
    """(n,) k-means cluster of each row of `vectors` (n, d): the categories of a corpus that names none."""
    from sklearn.cluster import MiniBatchKMeans

    k = max(1, min(n_clusters, len(vectors)))
    means = MiniBatchKMeans(n_clusters=k, random_state=seed % 2**31, n_init=3, batch_size=2048)
    return np.asarray(means.fit_predict(vectors), dtype=np.int64)


def _check(n: int, n_sources: int, alpha: float, replication: int, min_size: int) -> None:
    if n_sources < 1:
        raise ConfigError(f"at least one source is needed, not {n_sources}")
    if not (np.isfinite(alpha) and alpha > 0):
        raise ConfigError(f"dirichlet-alpha must be above 0, not {alpha}")
    if not 1 <= replication <= n_sources:
        raise ConfigError(f"replication must be 1 to the number of sources ({n_sources}), not {replication}")
    if min_size < 0:
        raise ConfigError(f"min_size must not be negative, not {min_size}")
    if n_sources > n:
        raise DataError(f"{n_sources} sources but {n} documents: each source needs at least one")


def _codes(labels: Sequence[Hashable]) -> Members:
    """Labels as 0, 1, 2, ... in order of first appearance (labels of mixed type need no order)."""
    table: dict[Hashable, int] = {}
    return np.fromiter((table.setdefault(label, len(table)) for label in labels), np.int64, len(labels))


def _draw(
    codes: Members, n_sources: int, alpha: float, replication: int, rng: np.random.Generator
) -> Members:
    """(units, R) distinct sources for each unit, drawn without replacement by the shares of its category."""
    n_categories = int(codes.max()) + 1
    shape = (n_categories, n_sources)
    # log of Gamma(alpha) draws, by Gamma(alpha + 1) U^(1/alpha): a tiny alpha would underflow otherwise
    log_shares = np.log(rng.gamma(alpha + 1.0, size=shape)) + np.log1p(-rng.random(shape)) / alpha
    log_shares -= log_shares.max(axis=1, keepdims=True)
    chosen = np.empty((len(codes), replication), dtype=np.int64)
    for start in range(0, len(codes), _CHUNK):
        rows = codes[start : start + _CHUNK]
        keys = log_shares[rows] + rng.gumbel(size=(len(rows), n_sources))
        chosen[start : start + _CHUNK] = np.argsort(-keys, axis=1)[:, :replication]
    return chosen


def _place(units: Members, chosen: Members, n_sources: int) -> list[set[int]]:
    """Wording i of a unit goes to its source i mod R; sources left over get wording i mod k."""
    held: list[set[int]] = [set() for _ in range(n_sources)]
    order = np.argsort(units, kind="stable")
    bounds = np.searchsorted(units[order], np.arange(len(chosen) + 1))
    listed, sources = order.tolist(), chosen.tolist()
    for unit, holders in enumerate(sources):
        wordings = listed[bounds[unit] : bounds[unit + 1]]
        for i in range(max(len(wordings), len(holders))):
            held[holders[i % len(holders)]].add(wordings[i % len(wordings)])
    return held


def _fill(held: list[set[int]], units: Members, min_size: int, rng: np.random.Generator) -> None:
    """Moves documents from the largest source to one below `min_size`, never to where a copy is already."""
    placed = sum(map(len, held))
    if min_size > len(units) or min_size * len(held) > placed:
        raise DataError(
            f"{len(units)} documents in {placed} places cannot give {len(held)} sources {min_size} each"
        )
    for small in range(len(held)):
        while len(held[small]) < min_size:
            large = max(range(len(held)), key=lambda j: (len(held[j]), -j))
            movable = sorted(held[large] - held[small])
            told = {int(units[i]) for i in held[small]}
            fresh = [i for i in movable if int(units[i]) not in told]
            moved = (fresh or movable)[int(rng.integers(len(fresh or movable)))]
            held[large].remove(moved)
            held[small].add(moved)


def _report(members: list[Members], codes: Members, alpha: float, replication: int) -> SkewReport:
    n_categories = int(codes.max()) + 1
    mixes = np.stack([np.bincount(codes[held], minlength=n_categories) for held in members]).astype(float)
    mixes /= np.maximum(mixes.sum(axis=1, keepdims=True), 1)
    pairs = [
        _entropy((mixes[i] + mixes[j]) / 2) - (_entropy(mixes[i]) + _entropy(mixes[j])) / 2
        for i, j in combinations(range(len(members)), 2)
    ]
    return SkewReport(
        n_documents=len(codes),
        n_sources=len(members),
        n_categories=n_categories,
        alpha=float(alpha),
        replication=replication,
        sizes=tuple(len(held) for held in members),
        category_entropy=tuple(_entropy(mix) for mix in mixes),
        mean_divergence=min(1.0, max(0.0, sum(pairs) / len(pairs))) if pairs else 0.0,
    )


def _entropy(mix: NDArray[np.float64]) -> float:
    positive = mix[mix > 0]
    return float(-(positive * np.log2(positive)).sum()) + 0.0
