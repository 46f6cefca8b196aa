"""A content-hash cache in front of an embedder: memory first, SQLite behind it."""

from __future__ import annotations

import sqlite3
import threading
from collections import OrderedDict
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from functools import lru_cache
from pathlib import Path

import numpy as np

from core.embedding.base import Embedder, Vectors
from core.errors import EmbeddingError, StoreError
from core.text import content_hash

_CHUNK = 500  # below SQLite's limit of bound variables
_SHORT = 400  # characters: more short texts than long ones are remembered with their hash
_short_hash = lru_cache(maxsize=100_000)(content_hash)
_long_hash = lru_cache(maxsize=10_000)(content_hash)


class VectorStore:
    """Vectors on disk, keyed by embedder identity and content hash; safe for many processes.

    Raises:
        StoreError: the file is not a vector store.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        path.parent.mkdir(parents=True, exist_ok=True)
        self._lock = threading.Lock()
        with self._guarded():
            self._db = sqlite3.connect(path, timeout=60, check_same_thread=False)
            self._db.execute("PRAGMA journal_mode=WAL")
            self._db.execute("PRAGMA synchronous=NORMAL")
            self._db.execute(
                "CREATE TABLE IF NOT EXISTS vectors"
                " (identity TEXT, hash TEXT, vector BLOB, PRIMARY KEY (identity, hash)) WITHOUT ROWID"
            )
            self._db.commit()

    def read(self, identity: str, hashes: Sequence[str]) -> dict[str, bytes]:
        """Stored vectors (little-endian float32) of those `hashes` that are known."""
        found: dict[str, bytes] = {}
        with self._lock, self._guarded():
            for start in range(0, len(hashes), _CHUNK):
                chunk = hashes[start : start + _CHUNK]
                marks = ",".join("?" * len(chunk))
                rows = self._db.execute(
                    f"SELECT hash, vector FROM vectors WHERE identity=? AND hash IN ({marks})",  # noqa: S608
                    (identity, *chunk),
                )
                found.update(rows)
        return found

    def write(self, identity: str, vectors: dict[str, bytes]) -> None:
        """Add `vectors`; the first vector stored for a hash stays."""
        with self._lock, self._guarded():
            self._db.executemany(
                "INSERT OR IGNORE INTO vectors VALUES (?,?,?)",
                [(identity, key, value) for key, value in vectors.items()],
            )
            self._db.commit()

    def forget(self, hashes: Sequence[str]) -> None:
        """Delete the vectors of `hashes` under every identity, and their bytes in free pages and log."""
        with self._lock, self._guarded():
            self._db.execute("PRAGMA secure_delete=ON")
            for start in range(0, len(hashes), _CHUNK):
                chunk = hashes[start : start + _CHUNK]
                marks = ",".join("?" * len(chunk))
                self._db.execute(f"DELETE FROM vectors WHERE hash IN ({marks})", chunk)  # noqa: S608
            self._db.commit()
            self._db.execute("PRAGMA wal_checkpoint(TRUNCATE)")

    @contextmanager
    def _guarded(self) -> Iterator[None]:
        try:
            yield
        except sqlite3.OperationalError as error:  # locked, read-only, disk full: the file itself is sound
            raise StoreError(f"{self.path}: embedding cache cannot be used ({error})") from None
        except sqlite3.DatabaseError as error:
            raise StoreError(f"{self.path}: not a usable embedding cache ({error}); delete it") from None

    def close(self) -> None:
        with self._lock:
            self._db.close()


class CachedEmbedder:
    """An embedder whose vectors are computed once per distinct text.

    Args:
        embedder: what computes a missing vector.
        store: where vectors persist; None keeps them in memory only.
        memory: how many vectors stay in memory; the least recently used go first (use is noted once it is
            half full).
        batch: missing texts are embedded in order in groups of this size, so that the same sequence
            of calls computes the same batches on every run.
    """

    def __init__(
        self,
        embedder: Embedder,
        store: VectorStore | None = None,
        memory: int = 200_000,
        batch: int = 512,
    ) -> None:
        self.inner = embedder
        self.store = store
        self.hits = 0
        self.misses = 0
        self._slots: OrderedDict[str, int] = OrderedDict()  # hash -> row of `_vectors`
        self._vectors = np.zeros((0, 0), dtype=np.float32)
        self._limit = memory
        self._batch = batch
        self._lock = threading.Lock()

    @property
    def identity(self) -> str:
        return self.inner.identity

    @property
    def dimension(self) -> int:
        return self.inner.dimension

    def embed(self, texts: Sequence[str]) -> Vectors:
        """(n, dimension) float32 unit rows, cached by content."""
        if not texts:
            return np.zeros((0, self.dimension), dtype=np.float32)
        keys = [_short_hash(text) if len(text) <= _SHORT else _long_hash(text) for text in texts]
        with self._lock:
            slots = list(map(self._slots.get, keys))
            if None not in slots:  # the usual case, kept quick
                if 2 * len(self._slots) > self._limit:  # before that, nothing makes room for long
                    for key in keys:
                        self._slots.move_to_end(key)
                self.hits += len(set(keys))
                return self._vectors.take(np.array(slots, dtype=np.int64), axis=0)
            distinct = dict(zip(keys, texts, strict=True))
            found = self._lookup(distinct)
            missing = [key for key in distinct if key not in found]
            self.hits += len(distinct) - len(missing)
            self.misses += len(missing)
            for start in range(0, len(missing), self._batch):
                group = missing[start : start + self._batch]
                vectors = self.inner.embed([distinct[key] for key in group])
                if not np.isfinite(vectors).all():
                    raise EmbeddingError(f"embedder {self.identity} returned a vector with NaN")
                found.update(zip(group, vectors, strict=True))
                if self.store is not None:
                    self.store.write(
                        self.identity,
                        {k: v.astype("<f4").tobytes() for k, v in zip(group, vectors, strict=True)},
                    )
            self._remember({key: found[key] for key in distinct})
        return np.concatenate([found[key] for key in keys]).reshape(len(keys), -1)  # quicker than stack

    def _lookup(self, distinct: dict[str, str]) -> dict[str, Vectors]:
        # copies: their rows may be given to other texts before these are returned
        found = {key: self._vectors[self._slots[key]].copy() for key in distinct if key in self._slots}
        if self.store is not None and len(found) < len(distinct):
            rest = [key for key in distinct if key not in found]
            for key, blob in self.store.read(self.identity, rest).items():
                found[key] = np.frombuffer(blob, dtype="<f4").astype(np.float32)
        return found

    def _remember(self, found: dict[str, Vectors]) -> None:
        """Keep these vectors, the last `_limit` of them; the least recently used ones make room."""
        kept = list(found)[-self._limit :] if self._limit else []
        for key in kept:
            if key in self._slots:
                self._slots.move_to_end(key)
        new = [key for key in kept if key not in self._slots]
        free = [self._slots.popitem(last=False)[1] for _ in range(len(self._slots) + len(new) - self._limit)]
        end = len(self._slots) + len(free)
        free += range(end, end + len(new) - len(free))
        if new and max(free) >= len(self._vectors):
            grown = np.zeros((min(self._limit, 2 * max(free) + 2), len(found[new[0]])), dtype=np.float32)
            if len(self._vectors):
                grown[: len(self._vectors)] = self._vectors
            self._vectors = grown
        for key, slot in zip(new, free, strict=True):
            self._vectors[slot] = found[key]
            self._slots[key] = slot
