"""A source that plays a part: its node answers honestly, its orders change what is said.

It has the face of the node (`retrieve`, `describe`), so that the same gRPC servicer serves it.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Protocol

from core.records import NodeDescription, PrivacyRequest, Query, RetrievedDocument, SourceReply
from core.seeding import derive_seed
from sim.attacks.schedule import Order, SourceOrders
from sim.attacks.wording import Wording

if TYPE_CHECKING:
    from source_node.privacy import PrivacyGate

COPY_MARK = "~"


class Node(Protocol):
    """What a simulated source needs of the node behind it."""

    def retrieve(self, query: Query, top_k: int, privacy: PrivacyRequest | None = None) -> SourceReply: ...

    def describe(self) -> NodeDescription: ...


class SimulatedSource:
    """Answers by `orders` for the request ids that they name, honestly for all others.

    Args:
        node: the honest source.
        orders: its part; see `sim.attacks.schedule`.
    """

    def __init__(self, node: Node, orders: SourceOrders) -> None:
        self.node = node
        self.orders = orders
        self.wording = Wording(orders)

    def describe(self) -> NodeDescription:
        """The node's own description: an attacker does not announce itself."""
        return self.node.describe()

    def retrieve(self, query: Query, top_k: int, privacy: PrivacyRequest | None = None) -> SourceReply:
        """At most `top_k` documents; attack documents first, free slots filled with the node's own."""
        reply = self.node.retrieve(query, top_k, privacy)
        order = self.orders.orders.get(query.request_id)
        name = order.alias if order is not None and order.alias else reply.source_id
        documents = [
            replace(document, source_id=name, text=self._say(document, index, order))
            for index, document in enumerate(reply.documents)
        ]
        if order is not None and order.inject:
            documents = _inject(order, documents, name, top_k)
        if order is not None and order.flood and order.attack and documents:
            documents = _flood(documents[0], top_k)
        return SourceReply(name, tuple(documents), reply.milliseconds)

    def _say(self, document: RetrievedDocument, index: int, order: Order | None) -> str:
        if order is not None and index < order.tamper:
            return self.wording.attacked(document.doc_id, document.text)
        return self.wording.honest(document.doc_id, document.text)


def _inject(order: Order, own: list[RetrievedDocument], name: str, top_k: int) -> list[RetrievedDocument]:
    """Attack texts dressed up as the source's best documents: their titles, categories and scores."""
    placed: list[RetrievedDocument] = []
    for i, document in enumerate(order.inject[:top_k]):
        like = own[min(i, len(own) - 1)] if own else None
        placed.append(
            RetrievedDocument(
                name,
                document.doc_id,
                document.text,
                like.title if like else "",
                like.category if like else None,
                min(1.0, own[0].score + 0.05) if own else 1.0,
                i + 1,
            )
        )
    taken = {document.doc_id for document in placed}
    rest = [document for document in own if document.doc_id not in taken][: top_k - len(placed)]
    return placed + [replace(document, rank=len(placed) + i + 1) for i, document in enumerate(rest)]


def _flood(document: RetrievedDocument, top_k: int) -> list[RetrievedDocument]:
    return [
        replace(document, doc_id=f"{document.doc_id}{COPY_MARK}{i}" if i else document.doc_id, rank=i + 1)
        for i in range(top_k)
    ]


def simulated_gate(source_id: str, seed: int) -> PrivacyGate:
    """A privacy gate for experiments: every mechanism at any ε, nobody pays, draws descend from `seed`."""
    from source_node.privacy import MECHANISMS, PrivacyGate, PrivacyPolicy

    policy = PrivacyPolicy(mechanisms=tuple(MECHANISMS), max_epsilon=1e9, budget=1e9)
    return PrivacyGate(policy, seed=derive_seed(seed, "privacy", source_id))
