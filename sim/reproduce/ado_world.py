"""What the ADO tables are measured on: small corpora with questions, held-out documents and probes."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

from core.embedding.base import Embedder
from core.errors import DataError
from core.records import Document
from core.seeding import generator
from sim.corpora import Corpus, Question, load_corpus, select_questions
from sim.reproduce.ado_published import NQ, PUBMED, TRIVIA
from sim.rounds import PreparedCorpus, prepare

DOCUMENTS = 700  # the paper's corpus
_MIX = ("nq", "hotpotqa")  # stands in for TriviaQA, which is not among the data


@dataclass(frozen=True)
class World:
    """One data set, cut to size.

    `benign`: questions under test, with a gold passage each. `poisoned`: questions with a poison record.
    `calibration`: further benign questions. `members` are in the corpus, `strangers` are not.
    """

    name: str
    prepared: PreparedCorpus
    benign: tuple[Question, ...]
    poisoned: tuple[Question, ...]
    calibration: tuple[Question, ...]
    members: tuple[Document, ...]
    strangers: tuple[Document, ...]

    def relevant(self, question: Question) -> frozenset[str]:
        """Ids of the question's gold passages."""
        return frozenset(self.prepared.corpus.qrels.get(question.query_id, ()))


@dataclass(frozen=True)
class Sizes:
    """How many of each; the paper's are 700, 50, 50, 30 and 20."""

    documents: int = DOCUMENTS
    benign: int = 50
    poisoned: int = 50
    calibration: int = 120
    members: int = 30
    strangers: int = 20


def open_worlds(dataset: str | None, embedder: Embedder, sizes: Sizes, seed: int) -> list[World]:
    """The worlds of `dataset`: one BEIR-style folder, or a folder that holds nq, hotpotqa and pubmedqa
    (then nq, pubmedqa and a mix of nq and hotpotqa for TriviaQA); None is the synthetic world.

    Raises:
        DataError: the folder holds no data set, or one without judged questions.
    """
    if dataset is None or dataset == "synthetic":
        corpora = {"synthetic": load_corpus("synthetic", n_documents=sizes.documents + sizes.strangers + 300)}
    else:
        folder = Path(dataset)
        if (folder / "corpus.jsonl").is_file() or not folder.is_dir():
            corpora = {folder.name: load_corpus(dataset)}
        else:
            corpora = _family(folder)
    return [cut(name, corpus, embedder, sizes, seed) for name, corpus in corpora.items()]


def cut(name: str, corpus: Corpus, embedder: Embedder, sizes: Sizes, seed: int) -> World:
    """`corpus` cut to `sizes.documents`: gold passages of the chosen questions first, then a random rest.

    Raises:
        DataError: no judged question.
    """
    rng = generator(seed, "ado", name)
    known = {document.doc_id for document in corpus.documents}
    judged = [q for q in select_questions(corpus) if corpus.qrels.get(q.query_id, set()) & known]
    if not judged:
        raise DataError(f"{name}: no question has a relevant document (qrels.tsv)")
    poisoned = [q for q in judged if q.query_id in corpus.poisons][: sizes.poisoned]
    rest = [q for q in judged if q.query_id not in corpus.poisons] or judged
    order = [rest[int(i)] for i in rng.permutation(len(rest))]
    benign, calibration = order[: sizes.benign], order[sizes.benign : sizes.benign + sizes.calibration]
    gold = set().union(*(corpus.qrels[q.query_id] for q in [*poisoned, *benign]))
    shuffled = [corpus.documents[int(i)] for i in rng.permutation(len(corpus.documents))]
    others = [document for document in shuffled if document.doc_id not in gold]
    strangers = [d for d in others if len(d.text.split()) >= 40][: sizes.strangers]
    out = {document.doc_id for document in strangers}
    filler = [d for d in others if d.doc_id not in out][: max(0, sizes.documents - len(gold))]
    wanted = gold | {document.doc_id for document in filler}
    kept = [document for document in corpus.documents if document.doc_id in wanted]
    members = [d for d in filler if len(d.text.split()) >= 40][: sizes.members]
    smaller = replace(corpus, name=name, documents=kept, groups=None)
    return World(
        name,
        prepare(smaller, embedder),
        tuple(benign),
        tuple(poisoned),
        tuple(calibration or benign),
        tuple(members),
        tuple(strangers),
    )


def _family(folder: Path) -> dict[str, Corpus]:
    found = {
        name: load_corpus(str(folder / name))
        for name in (*_MIX, "pubmedqa")
        if (folder / name / "corpus.jsonl").is_file()
    }
    if not found:
        raise DataError(
            f"{folder}: neither a data set (corpus.jsonl) nor a folder with nq, hotpotqa, pubmedqa"
        )
    corpora = {}
    if "nq" in found:
        corpora[NQ] = found["nq"]
    if "pubmedqa" in found:
        corpora[PUBMED] = found["pubmedqa"]
    if all(name in found for name in _MIX):
        corpora[TRIVIA] = mix([found[name] for name in _MIX])
    return corpora


def mix(corpora: Sequence[Corpus]) -> Corpus:
    """Several corpora as one, ids prefixed by their number, questions in turn."""
    documents = [
        replace(document, doc_id=f"{i}:{document.doc_id}", category=None)
        for i, corpus in enumerate(corpora)
        for document in corpus.documents
    ]
    numbered = [
        (position, i, replace(question, query_id=f"{i}:{question.query_id}"))
        for i, corpus in enumerate(corpora)
        for position, question in enumerate(corpus.questions)
    ]
    return Corpus(
        "+".join(corpus.name for corpus in corpora),
        documents,
        [question for _, _, question in sorted(numbered, key=lambda entry: entry[:2])],
        {
            f"{i}:{query}": {f"{i}:{doc}" for doc in docs}
            for i, corpus in enumerate(corpora)
            for query, docs in corpus.qrels.items()
        },
        {
            f"{i}:{query}": replace(poison, query_id=f"{i}:{query}")
            for i, corpus in enumerate(corpora)
            for query, poison in corpus.poisons.items()
        },
    )


def share(flags: Sequence[bool] | np.ndarray) -> float | None:
    """The share of true ones; None of nothing."""
    return float(np.mean(flags)) if len(flags) else None
