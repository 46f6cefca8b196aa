"""The words in which a source tells a document: honest or attacked, reworded or not.

Shared by the simulated source, which says them, and the labels, which must know who said what.
"""

from __future__ import annotations

from core.seeding import generator
from sim.attacks.base import Attack, AttackContext, open_attack
from sim.attacks.reword import reword
from sim.attacks.schedule import SourceOrders, reword_seed


class Wording:
    """Texts of one source under its orders; remembers what it made.

    Colluding sources edit a document in the same way, others each in their own. Under swap the honest
    version is the edited one. Rewording comes last, so that equal edits stay equal in meaning.
    """

    def __init__(self, orders: SourceOrders) -> None:
        self._orders = orders
        self._attack: Attack | None = None
        self._made: dict[tuple[str, str, bool], str] = {}
        if orders.kind == "tamper" and orders.view is not None:
            self._attack = open_attack(orders.attack, AttackContext(orders.view, orders.options, orders.seed))

    def honest(self, doc_id: str, text: str) -> str:
        """What the source says of a document that it does not attack."""
        if not self._orders.rewrites:
            return text
        return self._tell(doc_id, text, edited=self._orders.options.swap)

    def attacked(self, doc_id: str, text: str) -> str:
        """What the source says of a document that it tampers with."""
        return self._tell(doc_id, text, edited=not self._orders.options.swap)

    def _tell(self, doc_id: str, text: str, *, edited: bool) -> str:
        key = (doc_id, text, edited)
        if key not in self._made:
            told = self._edit(doc_id, text) if edited else text
            options, shared = self._orders.options, self._orders.shared
            if options.reword and (shared is None or doc_id in shared):
                told = reword(told, reword_seed(self._orders, doc_id))
            self._made[key] = told
        return self._made[key]

    def _edit(self, doc_id: str, text: str) -> str:
        orders = self._orders
        if self._attack is None or orders.view is None:
            return text
        whose = () if orders.options.collude else (orders.source_id,)
        world = orders.view.world
        group = None if world is None else world.group_of(doc_id)
        # documents that tell the same facts are altered alike: liars who agree on a story agree on facts
        rng = generator(orders.seed, "tamper", *whose, doc_id if group is None else group)
        if rng.random() >= orders.options.edit_rate:
            return text
        by_document = getattr(self._attack, "tamper_document", None)
        if by_document is None:  # a plug-in that does not build on BaseAttack
            return self._attack.tamper(text, orders.view.domain, rng)
        return str(by_document(doc_id, text, orders.view.domain, rng))
