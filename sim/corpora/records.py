"""What a data set is made of."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Protocol

import numpy as np

from core.records import Document


@dataclass(frozen=True, slots=True)
class Question:
    """A question with its accepted answers, the first of them the preferred one."""

    query_id: str
    text: str
    answers: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Poison:
    """A prepared attack on one question: the wrong answer and texts that assert it, without the question."""

    query_id: str
    target_answer: str
    texts: tuple[str, ...]


class FactWorld(Protocol):
    """Facts behind documents; small enough to travel to a source."""

    def group_of(self, doc_id: str) -> int | None:
        """Which group of facts a document tells."""
        ...

    def values(self, doc_id: str) -> tuple[tuple[str, ...], ...]:
        """The ways to write the value of each fact of its group."""
        ...

    def falsify(self, doc_id: str, text: str, rng: np.random.Generator, facts: int | None = None) -> str:
        """`text` with other values for some facts, the same ones in every telling for equal draws."""
        ...


@dataclass(frozen=True, eq=False)
class Corpus:
    """A data set in memory; equal only to itself, so that what is derived from it can be memoised.

    `qrels` maps a query id to the ids of its relevant documents. `groups` gives for each document the
    number of the fact group that it tells (documents of one group are independent wordings of the same
    facts), None where documents are unrelated; `world` knows these facts, where the documents were made from
    them. `notes` says in one line each what of the files was left
    out and why.
    """

    name: str
    documents: list[Document]
    questions: list[Question]
    qrels: dict[str, set[str]] = field(default_factory=dict)
    poisons: dict[str, Poison] = field(default_factory=dict)
    synthetic: bool = False
    groups: Sequence[int] | None = None
    world: FactWorld | None = None
    notes: tuple[str, ...] = ()

    def texts(self) -> dict[str, str]:
        """Document id to text."""
        return {document.doc_id: document.text for document in self.documents}


def select_questions(corpus: Corpus, n: int | None = None) -> list[Question]:
    """The first `n` questions (None: all): those with a poison record first, then file order.

    Questions whose text was taken already (case and white space ignored) are left out; fewer than `n`
    come back where the data set has fewer.
    """
    ordered = sorted(corpus.questions, key=lambda question: question.query_id not in corpus.poisons)
    seen: set[str] = set()
    chosen: list[Question] = []
    for question in ordered:
        key = " ".join(question.text.casefold().split())
        if key not in seen:
            seen.add(key)
            chosen.append(question)
    return chosen if n is None else chosen[:n]
