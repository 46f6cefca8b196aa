"""The serving side of `scr bench node`: a node in a process of its own, over vectors drawn at random."""

from __future__ import annotations

import multiprocessing
import os
import zlib
from collections.abc import Sequence
from contextlib import suppress
from multiprocessing.connection import Connection
from pathlib import Path
from types import TracebackType

import numpy as np

from core.embedding.base import Vectors, unit_rows
from core.embedding.cache import CachedEmbedder
from core.errors import ScrError

DIMENSION = 384
_START_S = 600.0


class RandomUnits:
    """Unit vectors drawn from each text's checksum: what a model costs is not measured here."""

    identity = f"random/{DIMENSION}"
    dimension = DIMENSION

    def embed(self, texts: Sequence[str]) -> Vectors:
        """(n, 384) float32 unit rows; equal texts have equal rows within a call of one text."""
        seed = zlib.crc32(texts[0].encode()) if texts else 0
        rng = np.random.default_rng((seed, len(texts)))
        return unit_rows(rng.standard_normal((len(texts), DIMENSION), dtype=np.float32))


class NodeProcess:
    """Serves the store in `folder` as `bench` on a free port of this machine until it is left.

    Raises:
        ScrError: the process did not start.
    """

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self.address = ""

    def __enter__(self) -> NodeProcess:
        context = multiprocessing.get_context("spawn")
        self._pipe, there = context.Pipe()
        before = os.environ.get("OPENBLAS_NUM_THREADS")
        os.environ["OPENBLAS_NUM_THREADS"] = before or "1"  # as `scr source serve` does
        try:
            self._process = context.Process(target=_serve, args=(there, self._folder), daemon=True)
            self._process.start()
        finally:
            if before is None:
                del os.environ["OPENBLAS_NUM_THREADS"]
        there.close()
        try:
            if not self._pipe.poll(_START_S):
                raise EOFError
            self.address = self._pipe.recv()
        except EOFError:
            self.__exit__(None, None, None)
            raise ScrError("the process with the node did not start") from None
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._pipe.close()
        self._process.join(timeout=20)
        if self._process.is_alive():
            self._process.terminate()

    def memory_mb(self) -> float:
        """Resident memory of the process, mapped files among it."""
        self._pipe.send("memory")
        return float(self._pipe.recv())


def _serve(parent: Connection, folder: Path) -> None:
    from source_node.node import SourceNode
    from source_node.servicer import serve

    node = SourceNode.open(folder, "bench", CachedEmbedder(RandomUnits()))
    server = serve(node, "127.0.0.1:0", insecure=True)
    server.start()
    parent.send(server.address)
    with suppress(EOFError, OSError):
        while parent.recv() == "memory":
            parent.send(_resident_mb())
    server.stop(0)


def _resident_mb() -> float:
    lines = Path("/proc/self/status").read_text(encoding="utf-8").splitlines()
    return next(int(line.split()[1]) for line in lines if line.startswith("VmRSS")) / 1024
