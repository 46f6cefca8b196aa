"""One round in the form that verification works on: texts, sentences, vectors, who holds what."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from core.embedding.base import Embedder
from core.records import Candidate
from gnn.texts import document_sentences

__all__ = ["VerificationRound", "document_sentences", "prepare_round"]


@dataclass(frozen=True)
class VerificationRound:
    """Documents of one question, embedded by the aggregator.

    `vectors` (n, d), `question_vector` (d,) and `sentence_vectors` (s, d) are unit rows; the
    sentences of document i stand at `offsets[i]:offsets[i+1]`. `holders` (n, m): source j returned
    document i. `sources` fixes the columns.
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
    flat = [sentence for own in parts for sentence in own]
    if vectors is None:
        vectors = embedder.embed([candidate.text for candidate in candidates])
    if question_vector is None:
        question_vector = embedder.embed([question])[0]
    return VerificationRound(
        question, candidates, names, holders, vectors, question_vector, parts, embedder.embed(flat)
    )
