"""A node that follows its store: what an ingest, a withdrawal or a re-index did is served within seconds."""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable, Collection, Sequence
from pathlib import Path

from core.errors import ScrError, StoreError
from core.records import Document, NodeDescription, PrivacyRequest, Query, SourceReply
from source_node.node import SourceNode
from source_node.sanitize.base import Sanitizer
from source_node.store import MANIFEST

_LOG = logging.getLogger(__name__)
_Stamp = tuple[int, int] | None


class LiveNode:
    """Has the face of a `SourceNode`; behind it, one is replaced by another whole, between two requests.

    The next node is opened beside the one that answers (an index of a million vectors takes seconds) and
    its model is loaded before it takes over. A store that cannot be opened leaves the node as it is: the
    log says why, once a change. A withdrawn document is not answered with even before the change is seen.

    Args:
        folder: the store.
        opened: opens a node over it as it is now.
        every_s: how often the manifest is looked at.

    Raises:
        ScrError: what `opened` raises the first time.
    """

    def __init__(self, folder: Path | str, opened: Callable[[], SourceNode], every_s: float = 1.0) -> None:
        self._manifest = Path(folder) / MANIFEST
        self._opened = opened
        self._every_s = every_s
        self._turn = threading.Lock()  # one opening at a time
        self._stamp = self._stamped()
        self._node = opened()
        self._closing = threading.Event()
        self._watcher = threading.Thread(target=self._watch, name="store-watcher", daemon=True)
        self._watcher.start()

    def __repr__(self) -> str:
        return f"LiveNode({self._node!r})"

    @property
    def source_id(self) -> str:
        """The institution's id."""
        return self._node.source_id

    @property
    def documents(self) -> Sequence[Document]:
        """What the node of the moment holds."""
        return self._node.documents

    @property
    def sanitizer(self) -> Sanitizer | None:
        """What takes identifiers out of documents, and counts them."""
        return self._node.sanitizer

    def retrieve(
        self,
        query: Query,
        top_k: int,
        privacy: PrivacyRequest | None = None,
        categories: Collection[str] | None = None,
    ) -> SourceReply:
        """As `SourceNode.retrieve`; where the store has moved on altogether, by a node opened for it."""
        node = self._node
        try:
            return node.retrieve(query, top_k, privacy, categories)
        except StoreError:
            if privacy is not None or not self.refresh():  # a budget is not charged twice for one answer
                raise
            return self._node.retrieve(query, top_k, privacy, categories)

    def describe(self) -> NodeDescription:
        """What the node of the moment says about itself."""
        return self._node.describe()

    def granted(self, asked: PrivacyRequest | None, *, required: bool = False) -> PrivacyRequest | None:
        """As `SourceNode.granted`."""
        return self._node.granted(asked, required=required)

    def warm_up(self) -> None:
        """Load the embedding model now rather than within the first caller's deadline."""
        self._node.warm_up()

    def refresh(self) -> bool:
        """Take over the store's present state if it changed; whether it did."""
        with self._turn:
            stamp = self._stamped()
            if stamp == self._stamp:
                return False
            self._stamp = stamp
            try:
                node = self._opened()
                node.warm_up()
            except ScrError as error:
                _LOG.error("what was served before stays: %s", error)
                return False
            self._node = node
            if node.sanitizer is not None:
                node.sanitizer.forget()
            _LOG.info("serving %r", node)
            return True

    def close(self) -> None:
        """Stop following the store."""
        self._closing.set()
        self._watcher.join(10)

    def _watch(self) -> None:
        while not self._closing.wait(self._every_s):
            self.refresh()

    def _stamped(self) -> _Stamp:
        try:
            found = self._manifest.stat()
        except OSError:
            return None
        return (found.st_ino, found.st_mtime_ns)
