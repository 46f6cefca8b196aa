"""The two kinds of Ray actor: one embedder for all, and one source node each.

Plain classes, made actors by `sim.cluster`; a worker's process title names its class
(`ray::SourceActor`). A source actor imports no torch: its vectors come from the embedder actor.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from core.embedding.base import Vectors
from core.errors import OverloadError
from core.records import Document, NodeDescription, Query, SourceReply


class EmbedderActor:
    """The one process that holds the embedding model and its cache on disk.

    Args:
        name: embedder as `core.embedding.open_embedder` takes it.
        cache_dir: where vectors persist; None: the default cache folder.
        threads: CPU threads of the model.
    """

    def __init__(self, name: str, cache_dir: str | None, threads: int) -> None:
        os.environ["OMP_NUM_THREADS"] = str(threads)  # Ray says 1; read when torch is imported
        from core.embedding import open_embedder

        # the driver remembers vectors, and SQLite all of them: a second copy here would only cost memory
        self._embedder = open_embedder(name, cache_dir, memory=4_000)

    def describe(self) -> tuple[str, int]:
        """Identity and dimension of the vectors."""
        return self._embedder.identity, self._embedder.dimension

    def embed(self, texts: Sequence[str]) -> Vectors:
        """(n, dimension) float32 unit rows, one call at a time, cached by content."""
        return self._embedder.embed(texts)


class SourceActor:
    """One institution: a source node over its shard, served over gRPC, reloaded for each trial.

    Args:
        source_id: name in the federation.
        embedder: handle of the embedder actor, with the identity and dimension of its vectors.
        retriever: name of the retriever that the node uses.
        host: address to bind; None: this node's address in the cluster.
    """

    def __init__(
        self, source_id: str, embedder: tuple[Any, str, int], retriever: str, host: str | None
    ) -> None:
        from core.embedding.cache import CachedEmbedder
        from sim.remote_embedder import RemoteEmbedder
        from source_node.servicer import serve

        self._source_id = source_id
        self._retriever = retriever
        self._embedder = CachedEmbedder(RemoteEmbedder(*embedder), memory=2_000)
        self._seat = Seat(source_id)
        if host is None:
            import ray

            self._server = serve(
                self._seat, f"{ray.util.get_node_ip_address()}:0", insecure=True, allow_remote_insecure=True
            )
        else:
            self._server = serve(self._seat, f"{host}:0", insecure=True)
        self._server.start()

    def address(self) -> str:
        """HOST:PORT that the node serves on."""
        return str(self._server.address)

    def load(self, documents: Sequence[Document], vectors: NDArray[np.float32], orders: Any) -> int:
        """Serve `documents` with their `vectors` (n, d) under `orders` from now on; returns n."""
        from sim.simulated_source import SimulatedSource, simulated_gate
        from source_node.node import SourceNode

        # a copy, so that the object store may free its own
        own = np.array(vectors, dtype=np.float32)
        gate = simulated_gate(self._source_id, orders.seed)
        node = SourceNode(self._source_id, documents, own, self._embedder, self._retriever, privacy=gate)
        self._seat.holder = SimulatedSource(node, orders)
        return len(documents)


class Seat:
    """What the gRPC service answers with: whoever sits in `holder` (trials change it, the port stays)."""

    def __init__(self, source_id: str) -> None:
        self.source_id = source_id
        self.holder: Any = None

    def retrieve(self, query: Query, top_k: int, privacy: Any = None) -> SourceReply:
        """The holder's answer.

        Raises:
            OverloadError: nothing is loaded yet.
        """
        return self._seated().retrieve(query, top_k, privacy)  # type: ignore[no-any-return]

    def describe(self) -> NodeDescription:
        """The holder's description of itself."""
        return self._seated().describe()  # type: ignore[no-any-return]

    def _seated(self) -> Any:
        if self.holder is None:
            raise OverloadError(f"source {self.source_id!r} has not been loaded yet")
        return self.holder
