"""The embedded default reader: no language model, the two sentences that the documents agree on most."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from core.embedding.base import Embedder
from core.reader import Reading, ReadRequest
from core.records import Candidate
from core.text import jaccard, sentences, squash, words

_ECHO = 0.8  # Jaccard of words above which a sentence only repeats the question


class ExtractiveReader:
    """A simulated reader: sentences ranked by similarity to the question plus agreement.

    Agreement of a sentence is its mean, over the other documents, of its best cosine to one of their
    sentences: what several documents say outranks what one says. Sentences that repeat the question
    are removed first, since an attacker places the question in front of its text to be retrieved.
    Weak by nature: it copies, it does not answer.

    Args:
        embedder: embeds question and sentences; cached by content.
        agreement: weight of agreement beside similarity (1: as much).
        top: how many sentences make the answer.
    """

    name = "extractive"
    simulated = True
    forced_choice = False

    def __init__(self, embedder: Embedder, agreement: float = 1.0, top: int = 2) -> None:
        self._embedder = embedder
        self._agreement = agreement
        self._top = top

    def read(self, request: ReadRequest) -> Reading:
        """The best sentences, best first; abstains where no document says more than the question."""
        pieces: list[str] = []
        owner: list[int] = []
        for i, document in enumerate(request.documents):
            found = _sentences(document, request.question)
            pieces += found
            owner += [i] * len(found)
        if not pieces:
            return Reading("", abstained=True)
        vectors = self._embedder.embed(pieces)
        query = self._embedder.embed([request.question])[0]
        owners = np.array(owner)
        weights = np.array([document.weight for document in request.documents])
        scores = weights[owners] * (vectors @ query + self._agreement * _agreement(vectors, owners, weights))
        order = np.lexsort((np.arange(len(pieces)), -scores))
        chosen: list[int] = []
        for i in order:
            if pieces[i] not in [pieces[j] for j in chosen]:
                chosen.append(int(i))
            if len(chosen) == self._top:
                break
        cited = dict.fromkeys(str(request.documents[owner[i]].key) for i in chosen)
        return Reading(
            " ".join(pieces[i] for i in chosen),
            scores=tuple(float(scores[i]) for i in chosen),
            cited=tuple(cited),
        )


def _sentences(document: Candidate, question: str) -> list[str]:
    """Sentences of `document` without the question in front and without those that only repeat it."""
    text, asked = squash(document.text), squash(question)
    while asked and text.lower().startswith(asked.lower()):
        text = text[len(asked) :].lstrip(" ?.!:")
    wanted = words(question)
    return [piece for piece in sentences(text) if jaccard(words(piece), wanted) < _ECHO]


def _agreement(
    vectors: NDArray[np.float32], owners: NDArray[np.int_], weights: NDArray[np.float64]
) -> NDArray[np.float64]:
    """Weighted mean over other documents of each sentence's best cosine there; (n,), 0 where none is."""
    documents = np.unique(owners)
    if len(documents) < 2:
        return np.zeros(len(owners))
    similar = vectors @ vectors.T
    starts = np.searchsorted(owners, documents)  # owners ascend: one run of columns per document
    best = np.maximum.reduceat(similar, starts, axis=1)
    other = (owners[:, None] != documents[None, :]) * weights[documents][None, :]
    total = other.sum(1)
    return np.asarray((best * other).sum(1) / np.where(total > 0, total, 1.0), dtype=np.float64)
