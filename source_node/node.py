"""The node itself: one institution's documents behind `retrieve` and `describe`."""

from __future__ import annotations

import time
from collections.abc import Collection, Mapping, Sequence
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from core import bounds
from core.embedding.base import Embedder, Vectors
from core.errors import AccessError, ConfigError, StoreError
from core.records import Document, NodeDescription, PrivacyRequest, Query, RetrievedDocument, SourceReply
from source_node.privacy import PrivacyGate
from source_node.retrievers import DEFAULT_RETRIEVER, RETRIEVERS
from source_node.retrievers.base import Hit, Retriever, Scoring

if TYPE_CHECKING:
    from source_node.sanitize.base import Sanitizer
    from source_node.store import Manifest

MAX_TOP_K = 50
_QUESTIONS_KEPT = 4_096  # vectors of questions kept in memory
_NO_OPTIONS: Mapping[str, Any] = MappingProxyType({})


class SourceNode:
    """Answers questions with its own best documents; safe for many threads.

    Args:
        source_id: this institution's id, as its certificate and every reply carry it.
        documents: what it holds, ids distinct; a list or a store's `documents`.
        vectors: (n, d) float32 unit rows; None has a retriever that needs them embed the documents.
        embedder: embeds questions (and documents without vectors); None for lexical retrieval.
        retriever: a name of `source_node.retrievers.RETRIEVERS`.
        retriever_options: its options, strictly checked.
        max_top_k: most documents in one reply; a request for more gets this many.
        privacy: honours requests for privacy; None refuses them.
        sanitizer: takes identifiers out of texts and titles before they leave; None leaves them.

    Raises:
        ConfigError: unknown retriever or option, or vectors that do not fit.
    """

    def __init__(
        self,
        source_id: str,
        documents: Sequence[Document],
        vectors: Vectors | None = None,
        embedder: Embedder | None = None,
        retriever: str = DEFAULT_RETRIEVER,
        retriever_options: Mapping[str, Any] = _NO_OPTIONS,
        *,
        max_top_k: int = MAX_TOP_K,
        privacy: PrivacyGate | None = None,
        sanitizer: Sanitizer | None = None,
    ) -> None:
        self.source_id = bounds.identifier(source_id, "source_id")
        self.documents = documents
        self.retriever_name = retriever
        self.max_top_k = bounds.count_asked(max_top_k)
        # a collection elsewhere brings its own retrieval
        factory = getattr(documents, "retriever", None) or RETRIEVERS.get(retriever)
        self._embedder = embedder if getattr(factory, "uses_vectors", True) else None
        self._privacy = privacy
        self.sanitizer = sanitizer
        self._retriever: Retriever = factory(documents, vectors, embedder, **retriever_options)
        self._positions: dict[frozenset[str], NDArray[np.intp]] = {}

    def __repr__(self) -> str:
        return f"SourceNode({self.source_id!r}, {len(self.documents)} documents, {self.retriever_name})"

    @classmethod
    def open(
        cls,
        store_dir: Path | str,
        source_id: str,
        embedder: Embedder | str | None = None,
        retriever: str = DEFAULT_RETRIEVER,
        retriever_options: Mapping[str, Any] = _NO_OPTIONS,
        *,
        max_top_k: int = MAX_TOP_K,
        privacy: PrivacyGate | None = None,
        sanitizer: Sanitizer | None = None,
    ) -> SourceNode:
        """The node over the store in `store_dir`, as its last finished ingest left it.

        `embedder` is one, or its name, or None for the one that made the store's vectors.

        Raises:
            StoreError: no usable store, or vectors of another embedder.
            ConfigError: a retriever that needs vectors over a store without.
        """
        from source_node.store import DocumentStore, read_manifest

        manifest = read_manifest(Path(store_dir))
        if manifest is not None and manifest.backend is not None:
            from source_node.backends import BACKENDS

            if retriever != DEFAULT_RETRIEVER or retriever_options:
                raise ConfigError(
                    f"{store_dir}: an attached collection has its own retrieval; name no retriever"
                )
            collection = BACKENDS.get(manifest.backend.kind)(**manifest.backend.options)
            return cls(
                source_id,
                collection,
                None,
                _embedder_of(Path(store_dir), manifest, embedder),
                max_top_k=max_top_k,
                privacy=privacy,
                sanitizer=sanitizer,
            )
        store = DocumentStore(store_dir)
        try:
            uses_vectors = getattr(RETRIEVERS.get(retriever), "uses_vectors", True)
            opened = _embedder_of(store.folder, store.manifest, embedder) if uses_vectors else None
            return cls(
                source_id,
                store.documents,
                store.vectors,
                opened,
                retriever,
                retriever_options,
                max_top_k=max_top_k,
                privacy=privacy,
                sanitizer=sanitizer,
            )
        except BaseException:
            store.close()
            raise

    def retrieve(
        self,
        query: Query,
        top_k: int,
        privacy: PrivacyRequest | None = None,
        categories: Collection[str] | None = None,
    ) -> SourceReply:
        """The best documents for `query`, at most `top_k` and `max_top_k`, best first.

        With `categories`, the best of the documents that have one of them.

        Raises:
            WireError: a blank or oversized question, or `top_k` out of range.
            AccessError: a privacy mechanism that is not offered. BudgetError: the budget is spent.
            EmbeddingError, StoreError: the model or the store failed.
        """
        started = time.perf_counter()
        bounds.text(query.text, "query", bounds.MAX_QUERY_BYTES)
        count = min(bounds.count_asked(top_k), self.max_top_k)
        vector = None if self._embedder is None else self._embedder.embed([query.text])[0]
        within = None if categories is None else frozenset(categories)
        hits = self._search(query, vector, count, privacy, within)
        documents = self._retrieved(hits[:count])
        return SourceReply(self.source_id, documents, (time.perf_counter() - started) * 1000.0)

    def describe(self) -> NodeDescription:
        """What the node says about itself."""
        return NodeDescription(
            source_id=self.source_id,
            n_documents=len(self.documents),
            retriever=self.retriever_name,
            embedder="" if self._embedder is None else self._embedder.identity,
            max_top_k=self.max_top_k,
            privacy_mechanisms=() if self._privacy is None else self._privacy.mechanisms,
        )

    def granted(self, asked: PrivacyRequest | None, *, required: bool = False) -> PrivacyRequest | None:
        """The privacy that a request for `asked` gets (None: an exact answer).

        Raises:
            AccessError: it is not offered. ConfigError: `required`, and none is offered at all.
        """
        if self._privacy is not None:
            return self._privacy.resolve(asked, required=required)
        if asked is not None:
            raise AccessError(f"no privacy mechanism is offered, {asked.mechanism!r} was asked for")
        if required:
            raise ConfigError("private answers are required, and the node offers no privacy mechanism")
        return None

    def warm_up(self) -> None:
        """Load the embedding model now rather than within the first caller's deadline."""
        if self._embedder is not None:
            self._embedder.embed(["warm up"])

    def _search(
        self,
        query: Query,
        vector: NDArray[np.float32] | None,
        count: int,
        asked: PrivacyRequest | None,
        within: frozenset[str] | None,
    ) -> list[Hit]:
        granted = self.granted(asked)
        if granted is None or self._privacy is None:
            return self._nearest(query.text, vector, count, within)
        if not isinstance(self._retriever, Scoring):
            raise ConfigError(
                f"retriever {self.retriever_name!r} cannot be private: it has no score for every document"
            )
        scores = self._retriever.scores(query.text, vector)
        positions = None if within is None else self._positions_of(within)
        chosen = self._privacy.select(
            scores if positions is None else scores[positions],
            count,
            granted,
            query.user_id,
            independent=self._retriever.independent_scores,
            name=query.request_id,
        )
        chosen = chosen if positions is None else positions[chosen]
        return [Hit(int(index), 0.0) for index in chosen]  # the order is all that leaves

    def _nearest(
        self, text: str, vector: NDArray[np.float32] | None, count: int, within: frozenset[str] | None
    ) -> list[Hit]:
        """The retriever's hits; `within` some categories, it is asked for more until enough fit."""
        if within is None:
            return self._retriever.search(text, vector, count)
        asked = count
        while True:
            asked = min(4 * asked, max(len(self.documents), 1))
            hits = self._retriever.search(text, vector, asked)
            held = zip(hits, self._held(hits), strict=True)
            fitting = [hit for hit, document in held if document and document.category in within]
            if len(fitting) >= count or len(hits) < asked or asked >= len(self.documents):
                return fitting[:count]

    def _positions_of(self, within: frozenset[str]) -> NDArray[np.intp]:
        if within not in self._positions:
            found = [at for at, document in enumerate(self.documents) if document.category in within]
            self._positions[within] = np.asarray(found, dtype=np.intp)
        return self._positions[within]

    def _held(self, hits: Sequence[Hit]) -> Sequence[Document | None]:
        """The documents of `hits`; None for one that was withdrawn since this node opened its store.

        Raises:
            StoreError: none of them is there any more: the store is another one by now.
        """
        if hits and hits[0].document is not None:  # from a collection elsewhere
            return [hit.document for hit in hits]
        indices = [hit.index for hit in hits]
        fetch = getattr(self.documents, "fetch", None)  # a store answers in one query
        if fetch is None:
            return [self.documents[index] for index in indices]
        found: Sequence[Document | None] = fetch(indices)
        if hits and not any(found):
            raise StoreError("the store has moved on since this node opened it; restart the node")
        return found

    def _retrieved(self, hits: Sequence[Hit]) -> tuple[RetrievedDocument, ...]:
        held = [(hit, found) for hit, found in zip(hits, self._held(hits), strict=True) if found]
        return tuple(
            RetrievedDocument(
                source_id=self.source_id,
                doc_id=document.doc_id,
                text=self._clean(document.text if hit.text is None else hit.text),
                title=self._clean(document.title),
                category=document.category,
                score=hit.score,
                rank=rank,
            )
            for rank, (hit, document) in enumerate(held, start=1)
        )

    def _clean(self, text: str) -> str:
        return text if self.sanitizer is None else self.sanitizer.clean(text)


def _embedder_of(folder: Path, manifest: Manifest, embedder: Embedder | str | None) -> Embedder:
    """The embedder of the store's vectors; one opened here keeps questions in memory, none on disk."""
    from core.embedding import DEFAULT_EMBEDDER, open_embedder
    from core.embedding.cache import CachedEmbedder

    made_with = manifest.identity
    if made_with is None:
        raise ConfigError(
            f"{folder} was ingested without an embedder: use --retriever bm25, or ingest with one"
        )
    if embedder is None or isinstance(embedder, str):
        name = embedder or manifest.embedder or DEFAULT_EMBEDDER
        opened = open_embedder(name, memory_only=True)
        embedder = CachedEmbedder(opened.inner, memory=_QUESTIONS_KEPT)
    if embedder.identity != made_with:
        raise StoreError(f"{folder}: its vectors are from {made_with}, not {embedder.identity}")
    return embedder
