"""Who returns what in which round: orders for every source, decided before the first question is asked.

Orders are plain data keyed by request id, so that a source in another process (or the training rounds)
follows them without knowing the experiment.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass, field, replace

from core.records import Document
from core.seeding import derive_seed, generator
from core.text import content_hash
from sim.attacks.base import Attack, AttackContext, AttackOptions, Kind, Payloads, open_attack
from sim.attacks.padding import pad
from sim.attacks.reword import reword
from sim.attacks.view import CorpusView, view_of
from sim.behaviors import Behavior, Steady
from sim.corpora.records import Corpus, Question


@dataclass(frozen=True, slots=True)
class Order:
    """What a malicious source does with one request.

    `attack`: whether it attacks at all. `inject`: texts put in front of its own documents. `tamper`: how
    many of its documents, from the first, are altered. `flood`: the first attack document fills every
    slot. `alias`: the name under which it answers, None for its own. `target`: the answer it pushes.
    """

    attack: bool = False
    inject: tuple[Document, ...] = ()
    tamper: int = 0
    flood: bool = False
    alias: str | None = None
    target: str | None = None


@dataclass(frozen=True)
class SourceOrders:
    """Everything that a simulated source needs to play its part.

    `attack`, `options`, `view` and `seed` rebuild the attack where documents are altered. `shared`: ids
    of documents that several sources hold, which `reword` rewords at each; None means all.
    """

    source_id: str
    malicious: bool = False
    orders: dict[str, Order] = field(default_factory=dict)
    attack: str = "none"
    kind: Kind = "none"
    options: AttackOptions = field(default_factory=AttackOptions)
    view: CorpusView | None = None
    seed: int = 0
    shared: frozenset[str] | None = None

    @property
    def rewrites(self) -> bool:
        """Whether this source's texts can differ from the corpus in any round."""
        tampers = self.kind == "tamper" and (self.malicious or self.options.swap)
        return tampers or self.options.reword


def build_schedule(
    corpus: Corpus,
    questions: Sequence[tuple[str, Question, bool]],
    malicious_sources: Collection[str],
    all_sources: Sequence[str],
    attack: str,
    options: AttackOptions,
    top_k: int,
    seed: int,
    behavior: Behavior | None = None,
    shared: Collection[str] | None = None,
) -> dict[str, SourceOrders]:
    """Orders for every source; `questions` are (request id, question, whether the round may be attacked).

    Rounds that may not be attacked are warm-up: nobody attacks, and behaviours do not count them.

    Raises:
        ConfigError: unknown attack, or an option that it does not read.
    """
    acting: Behavior = behavior or Steady()
    view = view_of(corpus)
    opened = open_attack(attack, AttackContext(view, options, seed))
    liars = [source for source in all_sources if source in malicious_sources]
    orders: dict[str, dict[str, Order]] = {source: {} for source in liars}
    counted = 0
    for request_id, question, attackable in questions:
        attacks = attackable and acting.active(counted)
        plan = _Round(corpus, view, opened, options, top_k, seed, request_id, question) if attacks else None
        texts = plan.deal(liars) if plan else {}
        for source in liars:
            name = acting.name(source, counted)
            orders[source][request_id] = Order(
                attack=attacks and opened.kind != "none",
                inject=texts.get(source, ()),
                tamper=(options.per_source or top_k) if attacks and opened.kind == "tamper" else 0,
                flood=acting.flood and attacks,
                alias=name if name != source else None,
                target=plan.payloads.target_answer or None if plan else None,
            )
        counted += attackable
    travelling = view.for_source() if opened.kind == "tamper" else None
    return {
        source: SourceOrders(
            source_id=source,
            malicious=source in orders,
            orders=orders.get(source, {}),
            attack=attack,
            kind=opened.kind,
            options=options,
            view=travelling,
            seed=seed,
            shared=None if shared is None else frozenset(shared),
        )
        for source in all_sources
    }


class _Round:
    """The attack on one question; equal questions get equal texts in every round of a seed."""

    def __init__(
        self,
        corpus: Corpus,
        view: CorpusView,
        attack: Attack,
        options: AttackOptions,
        top_k: int,
        seed: int,
        request_id: str,
        question: Question,
    ) -> None:
        self._limit = min(options.per_source or top_k, top_k)
        self._seed = seed
        self._question = question.text.strip()
        self._options = options
        self._deal_rng = generator(seed, "deal", request_id)
        if attack.kind != "inject":
            poison = corpus.poisons.get(question.query_id)
            self.payloads = Payloads(poison.target_answer if poison else "", ())
            return
        rng = generator(seed, "payloads", question.query_id)
        self.payloads = attack.payloads(question, corpus.poisons.get(question.query_id), rng)
        if options.length == "matched":
            avoid = {*question.answers, self.payloads.target_answer}
            padded = tuple(
                pad(
                    text,
                    view.median_words,
                    view.runs,
                    avoid,
                    generator(seed, "padding", question.query_id, i),
                    keep_front=options.prefix,
                )
                for i, text in enumerate(self.payloads.texts)
            )
            self.payloads = Payloads(self.payloads.target_answer, padded)

    def deal(self, sources: Sequence[str]) -> dict[str, tuple[Document, ...]]:
        """The attack's texts for each source: the same for all, or no text at two of them."""
        made = [Document(f"d{content_hash(text)[:16]}", text) for text in dict.fromkeys(self.payloads.texts)]
        if self._options.collude:
            return {
                source: tuple(self._told(document, source) for document in made[: self._limit])
                for source in sources
            }
        order = self._deal_rng.permutation(len(sources))
        hands: dict[str, list[Document]] = {source: [] for source in sources}
        for i, document in enumerate(made):
            hand = hands[sources[int(order[i % len(sources)])]] if sources else []
            if len(hand) < self._limit:
                hand.append(document)
        return {source: tuple(hand) for source, hand in hands.items()}

    def _told(self, document: Document, source: str) -> Document:
        """A text that malicious sources share, reworded at each; the question in front stays literal."""
        if not self._options.reword:
            return document
        front = self._question if document.text.startswith(self._question) else ""
        seed = derive_seed(self._seed, "reword", source, document.doc_id)
        return replace(document, text=front + reword(document.text[len(front) :], seed))


def reword_seed(orders: SourceOrders, doc_id: str) -> int:
    """Seed of the rewording of a document at a source."""
    return derive_seed(orders.seed, "reword", orders.source_id, doc_id)
