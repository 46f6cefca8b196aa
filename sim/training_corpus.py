"""Cuts a data set and its documents to a size that can be embedded in minutes, near misses kept."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

import numpy as np

from core.records import Document
from core.seeding import generator
from core.text import sentences
from sim.corpora import load_corpus
from sim.corpora.records import Corpus, Question, select_questions


def training_corpus(dataset: str, n_documents: int, seed: int, words: int | None = None) -> Corpus:
    """The data set cut to `n_documents` of at most about `words` words, which bounds the time of embedding.

    Kept are, question by question in the order of `select_questions`, its relevant documents and those
    nearest to it by TF-IDF, so that the cut corpus holds the near misses of the whole one; then others
    at random. Questions whose relevant documents were all cut go too.
    """
    corpus = load_corpus(dataset, n_documents=n_documents if dataset == "synthetic" else None, seed=seed)
    if words is not None:
        corpus = replace(corpus, documents=[_shortened(document, words) for document in corpus.documents])
    if len(corpus.documents) <= n_documents:
        return corpus
    rng = generator(seed, "training corpus", corpus.name)
    questions = select_questions(corpus)
    written = [q for q in questions if q.query_id in corpus.poisons]
    others = [q for q in questions if q.query_id not in corpus.poisons]
    questions = written + [others[i] for i in rng.permutation(len(others))]
    wanted: dict[int, None] = {}
    for question, near in zip(questions, _nearest(corpus, questions[:n_documents]), strict=False):
        if len(wanted) >= n_documents * 4 // 5:
            break
        relevant = corpus.qrels.get(question.query_id, ())
        wanted.update(dict.fromkeys(i for i, d in enumerate(corpus.documents) if d.doc_id in relevant))
        wanted.update(dict.fromkeys(near))
    for i in rng.permutation(len(corpus.documents)).tolist():
        if len(wanted) >= n_documents:
            break
        wanted.setdefault(i, None)
    kept = sorted(wanted)
    ids = {corpus.documents[i].doc_id for i in kept}
    return replace(
        corpus,
        documents=[corpus.documents[i] for i in kept],
        questions=[
            question
            for question in corpus.questions
            if question.query_id in corpus.poisons
            or not ids.isdisjoint(corpus.qrels.get(question.query_id, ()))
        ],
        groups=None if corpus.groups is None else [corpus.groups[i] for i in kept],
    )


def _shortened(document: Document, words: int) -> Document:
    """The document up to the sentence that reaches `words` words."""
    if len(document.text.split()) <= words:
        return document
    kept: list[str] = []
    count = 0
    for sentence in sentences(document.text):
        kept.append(sentence)
        count += len(sentence.split())
        if count >= words:
            break
    return replace(document, text=" ".join(kept))


def _nearest(corpus: Corpus, questions: Sequence[Question], k: int = 10) -> Iterator[list[int]]:
    """The `k` documents nearest to each question by TF-IDF."""
    from sklearn.feature_extraction.text import TfidfVectorizer

    vectorizer = TfidfVectorizer(stop_words="english", sublinear_tf=True)
    documents = vectorizer.fit_transform(f"{d.title} {d.text}" for d in corpus.documents)
    for question in questions:
        scores = (documents @ vectorizer.transform([question.text]).T).toarray()[:, 0]
        yield np.argsort(-scores, kind="stable")[:k].tolist()
