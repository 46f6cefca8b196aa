"""One trial: who holds what, who is malicious, and what is asked, all drawn from the run's seed."""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from core.records import DocumentKey, SourceReply
from core.seeding import derive_seed, generator
from core.text import content_hash
from sim.attacks import ATTACKS
from sim.attacks.schedule import SourceOrders, build_schedule
from sim.attacks.view import view_of
from sim.behaviors import open_behavior
from sim.config import RunConfig
from sim.corpora.records import Corpus, Question
from sim.labels import Label, Labeller
from sim.partition import SkewReport, partition
from sim.rounds import place_malicious, source_names

_MAX_ID_BYTES = 256  # of a request id on the wire


@dataclass(frozen=True)
class Case:
    """One question of a trial.

    `names` maps each source to the name under which it answers the attacked request (they differ for a
    whitewashing source). `target` is the answer that the attack pushes, or that a poison record names
    where there is no attack. `options` are what a forced-choice reader chooses from, the right answer
    first. `active`: the malicious sources attack in this round.
    """

    index: int
    question: Question
    attack_id: str
    clean_id: str
    names: Mapping[str, str]
    malicious: tuple[str, ...]
    target: str | None
    options: tuple[str, ...]
    active: bool


@dataclass(frozen=True)
class Trial:
    """`members[i]`: indices of source i's documents. `lone` is the source that SS-RAG asks."""

    number: int
    seed: int
    sources: tuple[str, ...]
    malicious: tuple[str, ...]
    lone: str
    members: Sequence[NDArray[np.int64]]
    skew: SkewReport
    schedule: Mapping[str, SourceOrders]
    cases: tuple[Case, ...]
    warmup: tuple[Question, ...]
    labeller: Labeller

    def labels(self, replies: Sequence[SourceReply], case: Case, attacked: bool) -> dict[DocumentKey, Label]:
        """The label of every document of a fan-out; all are benign where nobody attacks at all."""
        if attacked:
            return self.labeller.label_all(replies, case.attack_id)
        return {document.key: "benign" for reply in replies for document in reply.documents}


def plan_trial(
    number: int,
    config: RunConfig,
    corpus: Corpus,
    categories: Sequence[Hashable],
    questions: Sequence[Question],
) -> Trial:
    """Draw trial `number`; equal settings give equal trials, whatever the attack and the defense.

    Args:
        categories: one per document, by which the partition is uneven.
        questions: what is asked, in order.

    Raises:
        DataError: more sources than documents.
        ConfigError: unknown attack or behaviour, or an option that the attack does not read.
    """
    seed = derive_seed(config.seed, "trial", number)
    sources = source_names(config.sources)
    placed = place_malicious(sources, config.malicious, generator(seed, "malicious"))
    malicious = placed if config.attacked else []
    parts = partition(
        categories,
        config.sources,
        config.dirichlet_alpha,
        config.replication,
        generator(seed, "partition"),
        groups=corpus.groups,
    )
    shared = [corpus.documents[i].doc_id for i in np.flatnonzero(parts.holders() > 1)]
    ids = [request_id(number, "attack", question.query_id) for question in questions]
    schedule = build_schedule(
        corpus,
        [(name, question, True) for name, question in zip(ids, questions, strict=True)],
        malicious,
        sources,
        config.attack,
        config.attack_option,
        config.top_k,
        derive_seed(seed, "attack"),
        open_behavior(config.behavior),
        shared,
    )
    cases = tuple(
        _case(i, name, question, number, config, corpus, schedule, malicious)
        for i, (name, question) in enumerate(zip(ids, questions, strict=True))
    )
    return Trial(
        number=number,
        seed=seed,
        sources=tuple(sources),
        malicious=tuple(malicious),
        lone=(placed or sources)[0],
        members=parts.members,
        skew=parts.report,
        schedule=schedule,
        cases=cases,
        warmup=_warmup(config.rounds_warmup, corpus, questions, generator(seed, "warmup")),
        labeller=Labeller(schedule, corpus.texts()),
    )


def request_id(trial: int, arm: str, name: str) -> str:
    """The name of a request on the wire; a query id that is too long is replaced by its hash."""
    found = f"t{trial}/{arm}/{name}"
    return found if len(found.encode()) <= _MAX_ID_BYTES else f"t{trial}/{arm}/{content_hash(name)}"


def tampers(attack: str) -> bool:
    """Whether `attack` alters documents instead of pushing an answer."""
    return bool(ATTACKS.get(attack).kind == "tamper")


def _case(
    index: int,
    attack_id: str,
    question: Question,
    trial: int,
    config: RunConfig,
    corpus: Corpus,
    schedule: Mapping[str, SourceOrders],
    malicious: Sequence[str],
) -> Case:
    orders = {source: schedule[source].orders[attack_id] for source in malicious}
    names = {source: source for source in schedule}
    names.update({source: order.alias for source, order in orders.items() if order.alias})
    pushed = next((order.target for order in orders.values() if order.target), None)
    poison = corpus.poisons.get(question.query_id)
    target = pushed or (poison.target_answer if poison is not None else None)
    wrong = target
    if wrong is None and question.answers:
        draws = generator(config.seed, "wrong option", question.query_id)
        wrong = view_of(corpus).answers.wrong_answer(question, draws)
    return Case(
        index=index,
        question=question,
        attack_id=attack_id,
        clean_id=request_id(trial, "clean", question.query_id),
        names=names,
        malicious=tuple(names[source] for source in malicious),
        target=target,
        options=(*question.answers[:1], *([wrong] if wrong else [])),
        active=any(order.attack for order in orders.values()),
    )


def _warmup(
    count: int, corpus: Corpus, questions: Sequence[Question], rng: np.random.Generator
) -> tuple[Question, ...]:
    """`count` questions that are not under test, in random order, again from the start where they are few.

    Where every question is under test, those are used: their clean answers reveal nothing of the attack.
    """
    tested = {question.query_id for question in questions}
    pool = [question for question in corpus.questions if question.query_id not in tested] or list(questions)
    order = rng.permutation(len(pool))
    return tuple(pool[int(order[i % len(pool)])] for i in range(count))
