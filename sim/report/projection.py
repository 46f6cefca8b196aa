"""A run's documents in the plane, as in the SCR paper's Figures 4 and 5: before and after verification."""

from __future__ import annotations

import warnings
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from core.embedding.base import Embedder
from core.seeding import generator
from sim.round_record import RoundRecord

MOST = 700  # documents in the picture: t-SNE and the reader of the page both have limits
_FEW = 5  # below, there is nothing to see
_TEXT = 160  # characters of a text shown at its point


def project(
    rounds: Sequence[RoundRecord], texts: Mapping[str, str], embedder: Embedder, seed: int
) -> dict[str, Any] | None:
    """A sample of the distinct (text, label, kept) of a run by t-SNE, kinds in their proportion.

    Returns {"x", "y", "label", "kept", "text"}, lists of equal length; None with fewer than 5 texts.
    """
    rows = _sample(rounds, texts, seed)
    names = list(dict.fromkeys(name for name, _, _ in rows))
    if len(names) < _FEW:
        return None
    vectors = embedder.embed([texts[name] for name in names])
    places = dict(zip(names, _plane(vectors, seed), strict=True))
    return {
        "x": [round(float(places[name][0]), 2) for name, _, _ in rows],
        "y": [round(float(places[name][1]), 2) for name, _, _ in rows],
        "label": [label for _, label, _ in rows],
        "kept": [kept for _, _, kept in rows],
        "text": [_short(texts[name]) for name, _, _ in rows],
    }


def _sample(
    rounds: Sequence[RoundRecord], texts: Mapping[str, str], seed: int
) -> list[tuple[str, str, bool]]:
    distinct = dict.fromkeys(
        (document.text_hash, document.label, document.kept)
        for record in rounds
        for document in record.documents
        if document.text_hash in texts
    )
    rows: list[tuple[str, str, bool]] = list(distinct)
    if len(rows) <= MOST:
        return rows
    chosen = generator(seed, "projection").choice(len(rows), MOST, replace=False)
    return [rows[int(i)] for i in np.sort(chosen)]


def _plane(vectors: NDArray[np.float32], seed: int) -> NDArray[np.float32]:
    from sklearn.manifold import TSNE

    perplexity = float(min(30, max(2, (len(vectors) - 1) // 3)))
    model = TSNE(2, perplexity=perplexity, init="pca", random_state=seed % 2**32, max_iter=500)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # equal vectors make sklearn's PCA divide by zero: harmless here
        return model.fit_transform(np.asarray(vectors, dtype=np.float32))  # type: ignore[no-any-return]


def _short(text: str) -> str:
    return text if len(text) <= _TEXT else text[: _TEXT - 1] + "…"
