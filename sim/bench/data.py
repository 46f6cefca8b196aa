"""Where a benchmark finds documents: data sets beside the project, or the synthetic world."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path

from sim.corpora import load_corpus
from sim.corpora.records import Corpus

BESIDE = Path("..") / "shared" / "data"  # from where the command runs; SCR_DATA names another folder


def corpora(names: Sequence[str], n_documents: int) -> list[Corpus]:
    """The data sets called `names` below SCR_DATA or `../shared/data`; none there: a synthetic world.

    `n_documents` is the size of that world.
    """
    root = Path(os.environ["SCR_DATA"]) if os.environ.get("SCR_DATA") else BESIDE
    found = [root / name for name in names if (root / name / "corpus.jsonl").is_file()]
    return [load_corpus(str(folder)) for folder in found] or [
        load_corpus("synthetic", n_documents=n_documents)
    ]


def texts_and_questions(
    found: Sequence[Corpus], n_texts: int, n_questions: int
) -> tuple[list[str], list[str]]:
    """The first `n_texts` documents (title and text) of `found` together, and questions.

    Every data set gives equally many questions, its first ones: at least one, else `n_questions` in all
    at most.
    """
    each = max(1, n_questions // len(found))
    texts: list[str] = []
    questions: list[str] = []
    for corpus in found:
        texts += [f"{d.title.strip()}. {d.text}" if d.title.strip() else d.text for d in corpus.documents]
        questions += [question.text for question in corpus.questions[:each]]
    return texts[:n_texts], questions
