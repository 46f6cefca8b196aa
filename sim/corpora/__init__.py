"""Data sets: BEIR-style folders and the synthetic world."""

from __future__ import annotations

from pathlib import Path

from core.errors import ConfigError
from sim.corpora.records import Corpus, Poison, Question, select_questions

__all__ = ["Corpus", "Poison", "Question", "load_corpus", "select_questions"]

SYNTHETIC = "synthetic"


def load_corpus(
    dataset: str,
    queries_file: str | Path | None = None,
    qrels: str | Path | None = None,
    poison: str | Path | None = None,
    n_documents: int | None = None,
    seed: int = 0,
    wordings: int = 3,
) -> Corpus:
    """The data set called `dataset`: a folder, or `synthetic` for the fictional world.

    `n_documents`, `seed` and `wordings` (independent tellings of each group of facts; give the
    replication, so that each holder has a telling of its own) shape the synthetic world.

    Raises:
        DataError: a file of the folder is missing or malformed.
        ConfigError: `n_documents` was given for a folder, or files for the synthetic world.
    """
    if dataset != SYNTHETIC:
        from sim.corpora.folder import read_folder

        if n_documents is not None:
            raise ConfigError("n_documents shapes the synthetic world; a folder is read whole")
        paths = [None if file is None else Path(file) for file in (queries_file, qrels, poison)]
        return read_folder(Path(dataset), *paths)
    from sim.corpora.synthetic import build_world

    if queries_file or qrels or poison:
        raise ConfigError("the synthetic world brings its own questions, judgements and poisons")
    return build_world(n_documents, seed, wordings)
