"""An embedder whose model lives in another process, the one embedder actor of a simulation."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from core.embedding.base import Vectors
from core.errors import EmbeddingError, ScrError


class RemoteEmbedder:
    """Asks the embedder actor behind `handle`; needs neither torch nor the model in this process.

    Put a `CachedEmbedder` in front of it: every call is a message to another process.
    """

    def __init__(self, handle: Any, identity: str, dimension: int) -> None:
        self._handle = handle
        self.identity = identity
        self.dimension = dimension

    def embed(self, texts: Sequence[str]) -> Vectors:
        """(n, dimension) float32 unit rows.

        Raises:
            EmbeddingError: the actor has died.
        """
        import ray
        from ray.exceptions import RayActorError, RayTaskError

        try:
            vectors = ray.get(self._handle.embed.remote(list(texts)))
        except RayTaskError as error:
            cause = getattr(error, "cause", None)
            if isinstance(cause, ScrError):
                raise cause from None
            raise
        except RayActorError as error:
            raise EmbeddingError(f"the embedder process has died: {str(error).splitlines()[0]}") from None
        # a copy, since the original is a read-only page of the object store that stays there while in use
        return np.array(vectors, dtype=np.float32)
