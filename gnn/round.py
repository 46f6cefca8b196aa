"""One round in the form that verification works on: texts, sentences, vectors, who holds what."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from core.embedding.base import Embedder
from core.records import Candidate
from gnn.texts import document_sentences

__all__ = ["VerificationRound", "document_sentences", "on_grid", "prepare_round"]
_STEPS = 2048.0  # of the grid in 1: a cosine moves by some 2e-4


@dataclass(frozen=True)
class VerificationRound:
    """Documents of one question, embedded by the aggregator.

    `vectors` (n, d), `question_vector` (d,) and `sentence_vectors` (s, d) are unit rows on a grid
    (`on_grid`), sentences in the order of `sentences`. `holders` (n, m): source j returned document i.
    `sources` fixes the columns.
    """

    question: str
    candidates: tuple[Candidate, ...]
    sources: tuple[str, ...]
    holders: NDArray[np.bool_]
    vectors: NDArray[np.float32]
    question_vector: NDArray[np.float32]
    sentences: list[list[str]]
    sentence_vectors: NDArray[np.float32]

    @property
    def texts(self) -> list[str]:
        return [candidate.text for candidate in self.candidates]

    @cached_property
    def cosine(self) -> NDArray[np.float32]:
        """(n, n) semantic similarity of the documents, its diagonal zero."""
        cosine = self.vectors @ self.vectors.T
        np.fill_diagonal(cosine, 0.0)
        return cosine


def on_grid(vectors: NDArray[np.float32]) -> NDArray[np.float32]:
    """Unit rows (n, d) or one (d,) with entries rounded to multiples of 2^-11.

    All partial sums of a product of two such rows are then multiples of 2^-22 below 2, which float32 holds
    exactly: a cosine is the same on every machine, in every order of summation and in whatever round it is
    taken, so that what was found of two texts once holds.
    """
    steps = vectors * np.float32(_STEPS)
    np.rint(steps, out=steps)
    steps *= np.float32(1 / _STEPS)
    return steps


def prepare_round(
    question: str,
    candidates: Sequence[Candidate],
    embedder: Embedder,
    *,
    sources: Sequence[str] | None = None,
    vectors: NDArray[np.float32] | None = None,
    question_vector: NDArray[np.float32] | None = None,
) -> VerificationRound:
    """Split, embed (what is not given) and index the documents of one round.

    Args:
        sources: column order; None takes the holders that occur, sorted.
    """
    candidates = tuple(candidates)
    names = (
        tuple(sources) if sources is not None else tuple(sorted({s for c in candidates for s in c.sources}))
    )
    column = {name: j for j, name in enumerate(names)}
    holders = np.zeros((len(candidates), len(names)), dtype=bool)
    for i, candidate in enumerate(candidates):
        for name in candidate.sources:
            holders[i, column[name]] = True
    parts = [document_sentences(candidate.text) for candidate in candidates]
    wanted = [] if vectors is not None else [candidate.text for candidate in candidates]
    wanted += [] if question_vector is not None else [question]
    own, asked = len(wanted), len(wanted) - (question_vector is None)
    found = on_grid(embedder.embed([*wanted, *(sentence for part in parts for sentence in part)]))
    return VerificationRound(
        question, candidates, names, holders,
        found[:asked] if vectors is None else on_grid(vectors),
        found[asked] if question_vector is None else on_grid(question_vector),
        parts, found[own:],
    )  # fmt: skip
