"""Ground truth of a round, per (source, document), by the contract of the design (5.1).

`malicious`: the attack placed or altered the text (under swap: a malicious source returned the original
of an edited document). `neutral`: an honest document of a malicious source. `benign`: any document of
an honest source.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Literal

from core.records import DocumentKey, RetrievedDocument, SourceReply
from core.text import squash
from sim.attacks.schedule import SourceOrders
from sim.attacks.wording import Wording
from sim.simulated_source import COPY_MARK

Label = Literal["benign", "malicious", "neutral"]


class Labeller:
    """Labels replies by the orders under which they were given.

    Args:
        schedule: orders by source id.
        originals: document id -> text in the corpus.
        wordings: what the sources used, where they run in this process (saves making texts twice).
    """

    def __init__(
        self,
        schedule: Mapping[str, SourceOrders],
        originals: Mapping[str, str],
        wordings: Mapping[str, Wording] | None = None,
    ) -> None:
        self._originals = originals
        self._orders = dict(schedule)
        self._wordings = dict(wordings or {})
        self._aliases = {
            order.alias: source
            for source, orders in schedule.items()
            for order in orders.orders.values()
            if order.alias
        }

    def source_of(self, name: str) -> str:
        """The source that answers as `name` (they differ for a whitewashing source).

        Raises:
            KeyError: no source of the schedule has this name.
        """
        source = self._aliases.get(name, name)
        if source not in self._orders:
            raise KeyError(name)
        return source

    def is_malicious(self, name: str) -> bool:
        """Whether the source that answers as `name` is one of the malicious ones."""
        return self._orders[self.source_of(name)].malicious

    def label(self, reply: SourceReply, request_id: str) -> dict[DocumentKey, Label]:
        """The label of every document of `reply`, given to the request `request_id`."""
        orders = self._orders[self.source_of(reply.source_id)]
        return {document.key: self._one(orders, request_id, document) for document in reply.documents}

    def label_all(self, replies: Iterable[SourceReply], request_id: str) -> dict[DocumentKey, Label]:
        """The labels of all documents of a round."""
        return {key: label for reply in replies for key, label in self.label(reply, request_id).items()}

    def _one(self, orders: SourceOrders, request_id: str, document: RetrievedDocument) -> Label:
        if not orders.malicious:
            return "benign"
        order = orders.orders.get(request_id)
        if order is None or not order.attack:
            return "neutral"
        doc_id = document.doc_id.rpartition(COPY_MARK)[0] if order.flood else document.doc_id
        doc_id = doc_id or document.doc_id
        if any(injected.doc_id == doc_id for injected in order.inject):
            return "malicious"
        original = self._originals.get(doc_id)
        if original is None or (document.rank > order.tamper and not order.flood) or not order.tamper:
            return "neutral"
        wording = self._wordings.get(orders.source_id)
        if wording is None:
            wording = self._wordings[orders.source_id] = Wording(orders)
        honest, attacked = wording.honest(doc_id, original), wording.attacked(doc_id, original)
        # not "told == attacked": a node may have rewritten the text (masks, sanitising) before the attack
        return "malicious" if attacked != honest and squash(document.text) != squash(honest) else "neutral"
