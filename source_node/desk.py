"""The desk: what every request passes, however it reached the node.

Whoever asks is admitted or refused, the message is checked, the node answers within what the caller may
have, and what leaves is written down first. Calls over an open port (`source_node.servicer`) and over a
connection that the node dialled itself (`source_node.dial`) come to the same desk.
"""

from __future__ import annotations

import logging
import threading
import time
from collections import OrderedDict
from collections.abc import Callable, Collection, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import Any, Protocol

from core import wire
from core.bounds import MAX_MESSAGE_BYTES
from core.errors import AccessError, DataError, OverloadError, StoreError, WireError
from core.memory import MemoryLimit
from core.records import NodeDescription, PrivacyRequest, Query, SourceReply
from core.rpc import status_of
from protos import source_node_pb2
from source_node.access.admission import Admission, Admitted
from source_node.access.policy import CallerRule
from source_node.accountant import ANONYMOUS
from source_node.audit import AuditLog, Entry

_LOG = logging.getLogger(__name__)
_REPLY_BYTES = MAX_MESSAGE_BYTES - 4_096  # leaves room for the ids around the documents
_DOCUMENT_BYTES = 64  # tags, lengths, score and rank of one document
_REFUSALS_EVERY_S = 1.0  # a flood of refusals must not fill the disk with records
_REFUSED_CALLERS = 4_096


class Answering(Protocol):
    """What can be served: a `SourceNode`, or something with its face (a simulated source)."""

    def retrieve(self, query: Query, top_k: int, privacy: PrivacyRequest | None = None) -> SourceReply:
        """The best documents for `query`; its `user_id` is the caller's certified name, or empty."""
        ...

    def describe(self) -> NodeDescription:
        """What the node says about itself."""
        ...


@dataclass(slots=True)
class _Notes:
    """What becomes the audit record of one request."""

    name: str
    request_id: str = ""
    top_k: int = 0
    documents: tuple[str, ...] = ()
    privacy: PrivacyRequest | None = None


class Desk:
    """Answers requests for `node`; safe for threads.

    Args:
        node: what answers. With a policy that limits categories or privacy it must be a `SourceNode`.
        max_top_k: most documents in one reply, whoever asks.
        admission: who may ask; None lets everybody who got this far.
        log: where every request of an authenticated caller is recorded; None keeps none.
        memory: a limit above which requests are refused.
        sent: told how many documents leave with a reply.
    """

    def __init__(
        self,
        node: Answering,
        max_top_k: int = 50,
        *,
        admission: Admission | None = None,
        log: AuditLog | None = None,
        memory: MemoryLimit | None = None,
        sent: Callable[[float], None] | None = None,
    ) -> None:
        self.node = node
        self._max_top_k = max_top_k
        self._admission = admission
        self._log = log
        self._memory = memory
        self._sent = sent
        self._refusals = _Refusals()

    def retrieve(
        self, caller: str, request: source_node_pb2.RetrieveRequest
    ) -> source_node_pb2.RetrieveReply:
        """The reply to `caller` (its authenticated name; empty: none), recorded when this returns.

        Raises:
            ScrError: a refusal or a failure; nothing leaves.
        """
        with self._recorded("Retrieve", caller) as notes:
            name, rule = self._admitted(caller)
            notes.name = name or ANONYMOUS
            query, top_k, privacy = wire.from_retrieve_request(request)
            notes.request_id, notes.top_k, notes.privacy = query.request_id, top_k, privacy
            privacy = self._granted(privacy, rule)
            notes.privacy = privacy
            query = replace(query, user_id=name)
            reply = self._answer(query, min(top_k, self._max_top_k, rule.top_k), privacy, rule.categories)
            reply = fitting(reply)
            try:
                message = wire.to_retrieve_reply(reply, query.request_id)
            except WireError as error:  # not the caller's fault
                raise DataError(f"own documents break the bounds of the wire: {error}") from error
            notes.documents = tuple(document.doc_id for document in reply.documents)
        if self._sent is not None:
            self._sent(len(notes.documents))
        return message

    def describe(self, caller: str) -> source_node_pb2.DescribeReply:
        """Who answers here, as `retrieve` tells it."""
        with self._recorded("Describe", caller) as notes:
            name, rule = self._admitted(caller)
            notes.name = name or ANONYMOUS
            node = self.node.describe()
            most = min(node.max_top_k, self._max_top_k, rule.top_k)
            return wire.to_describe_reply(replace(node, max_top_k=most))

    def _admitted(self, caller: str) -> Admitted:
        if self._memory is not None:
            self._memory.check()
        if self._admission is None:
            return Admitted(caller, _UNLIMITED)
        name, rule = self._admission.admit(caller)
        return Admitted("" if name == ANONYMOUS else name, rule)

    def _granted(self, asked: PrivacyRequest | None, rule: CallerRule) -> PrivacyRequest | None:
        """What privacy the node will apply, so that the record can say so."""
        node: Any = self.node
        if rule.epsilon_budget is not None:
            return node.granted(asked, required=True)
        return node.granted(asked) if hasattr(node, "granted") else asked

    def _answer(
        self, query: Query, count: int, privacy: PrivacyRequest | None, categories: Collection[str] | None
    ) -> SourceReply:
        if categories is None:
            return self.node.retrieve(query, count, privacy)
        node: Any = self.node
        return node.retrieve(query, count, privacy, categories=categories)

    @contextmanager
    def _recorded(self, method: str, caller: str) -> Iterator[_Notes]:
        notes = _Notes(caller or ANONYMOUS)
        try:
            yield notes
        except Exception as error:
            self._record_refusal(method, notes, error)
            raise
        if self._log is not None:
            self._log.append(_entry(method, notes, "OK", self._refusals.skipped(notes.name)))

    def _record_refusal(self, method: str, notes: _Notes, error: Exception) -> None:
        if self._log is None:
            return
        if isinstance(error, AccessError | OverloadError) and not self._refusals.due(notes.name):
            return
        entry = _entry(method, notes, status_of(error)[0].name, self._refusals.skipped(notes.name))
        try:
            self._log.append(replace(entry, documents=()))
        except StoreError as failure:  # nothing leaves anyway: the caller gets its own error
            _LOG.error("%s", failure)


_UNLIMITED = CallerRule()


def _entry(method: str, notes: _Notes, outcome: str, skipped: int) -> Entry:
    privacy = notes.privacy
    return Entry(
        caller=notes.name,
        method=method,
        outcome=outcome,
        request_id=notes.request_id,
        top_k=notes.top_k,
        documents=notes.documents,
        mechanism="" if privacy is None else privacy.mechanism,
        epsilon=0.0 if privacy is None else privacy.epsilon,
        skipped=skipped,
    )


class _Refusals:
    """One record a second for the refusals of a caller, and how many had none."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._seen: OrderedDict[str, list[float]] = (
            OrderedDict()
        )  # name -> [time of the last record, skipped]

    def due(self, name: str) -> bool:
        with self._lock:
            now = time.monotonic()
            last = self._seen.get(name)
            if last is not None and now - last[0] < _REFUSALS_EVERY_S:
                last[1] += 1
                return False
            self._seen[name] = [now, 0.0 if last is None else last[1]]
            self._seen.move_to_end(name)
            while len(self._seen) > _REFUSED_CALLERS:
                self._seen.popitem(last=False)
            return True

    def skipped(self, name: str) -> int:
        with self._lock:
            last = self._seen.get(name)
            if last is None:
                return 0
            count, last[1] = int(last[1]), 0.0
            return count


def fitting(reply: SourceReply) -> SourceReply:
    """`reply` without the last documents that would make it larger than a message may be."""
    size = 0
    for count, document in enumerate(reply.documents):
        parts = (document.doc_id, document.title, document.text, document.category or "")
        size += _DOCUMENT_BYTES + sum(len(part.encode("utf-8", "surrogatepass")) for part in parts)
        if size > _REPLY_BYTES:
            _LOG.warning("%d documents of %d fit into a reply", count, len(reply.documents))
            return replace(reply, documents=reply.documents[:count])
    return reply
