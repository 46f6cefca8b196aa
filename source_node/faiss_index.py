"""A million vectors in half their size: faiss with scalar-quantised fp16, the winners scored exactly."""

from __future__ import annotations

import itertools
import mmap
import os
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np
from numpy.typing import NDArray

from core.embedding.base import Vectors
from core.errors import MissingPackageError
from source_node.index import best, cosine_scores
from source_node.vector_index import check_query

_ROWS = 65_536  # copied at once
_MARGIN = 32  # candidates beyond k: fp16 swaps neighbours that differ in the fourth decimal


class FaissIndex:
    """Inner product over fp16 copies, one shard a core; candidates are scored again with the originals.

    faiss searches one query on one core: shards make use of the others, and their pool keeps many
    requests from fighting over the caches. More than 32 documents with the same vector as the k-th
    best may come in another order than that of their ids.

    Args:
        vectors: (n, d) unit rows; of those mapped from disk, none stays in memory.
        ranks: (n,) order of the ids.
        shards: parts searched side by side; None: one a core.

    Raises:
        MissingPackageError: faiss is not installed.
    """

    def __init__(self, vectors: Vectors, ranks: NDArray[np.int32], shards: int | None = None) -> None:
        try:
            import faiss
        except ModuleNotFoundError:
            raise MissingPackageError(
                "index 'faiss' needs the package 'faiss-cpu': pip install 'securecollarag[faiss]'"
            ) from None
        self._vectors, self._ranks = vectors, ranks
        count = max(1, min(shards or len(os.sched_getaffinity(0)), len(vectors)))
        edges = [len(vectors) * i // count for i in range(count + 1)]
        self._pool = ThreadPoolExecutor(count, thread_name_prefix="faiss")
        faiss.omp_set_num_threads(1)
        self._shards = [
            (start, _filled(faiss, vectors, start, end)) for start, end in itertools.pairwise(edges)
        ]

    def search(self, query: NDArray[np.float32], k: int) -> tuple[NDArray[np.intp], NDArray[np.float32]]:
        """(rows, cosines) of the `k` nearest, best first."""
        check_query(query, self._vectors.shape[1])
        wanted = k + max(k // 2, _MARGIN)
        row = np.ascontiguousarray(query[None], dtype=np.float32)

        def ask(shard: tuple[int, Any]) -> NDArray[np.intp]:
            start, index = shard
            found = index.search(row, min(wanted, index.ntotal))[1][0]
            return np.asarray(found[found >= 0] + start, dtype=np.intp)

        candidates = np.sort(np.concatenate(list(self._pool.map(ask, self._shards))))
        rows = self._vectors[candidates]
        _release(self._vectors)  # each row read maps its neighbours too: soon the whole file would be held
        scores = cosine_scores(rows, query)
        order = best(scores, k, self._ranks[candidates])
        return candidates[order], scores[order]


def _filled(faiss: Any, vectors: Vectors, start: int, end: int) -> Any:
    quantizer = faiss.ScalarQuantizer.QT_fp16
    index = faiss.IndexScalarQuantizer(vectors.shape[1], quantizer, faiss.METRIC_INNER_PRODUCT)
    for first in range(start, end, _ROWS):
        index.add(np.ascontiguousarray(vectors[first : min(first + _ROWS, end)], dtype=np.float32))
        _release(vectors)
    return index


def _release(vectors: Vectors) -> None:
    """Let go of the pages of a map: they are on disk, and a few rows are read at a time."""
    mapped = getattr(vectors, "_mmap", None)
    if isinstance(mapped, mmap.mmap) and hasattr(mmap, "MADV_DONTNEED"):
        mapped.madvise(mmap.MADV_DONTNEED)
