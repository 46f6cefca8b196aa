"""Rounds for tests of stages: texts with vectors that a test can draw by hand."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from core.embedding.base import unit_rows
from core.records import Candidate, DocumentKey, Query
from core.stage import StageInput, StageResult
from core.verdict import Action


def a_round(
    question: str, texts: Sequence[str], vectors: NDArray[np.floating] | None = None, seed: int = 0
) -> StageInput:
    """Document i comes from source si and is called di."""
    documents = tuple(
        Candidate(DocumentKey(f"s{i}", f"d{i}"), text, rank=i + 1) for i, text in enumerate(texts)
    )
    rows = None if vectors is None else unit_rows(np.asarray(vectors, dtype=np.float32))
    return StageInput(Query(question), documents, rows, None, {}, seed)


def kept(result: StageResult) -> list[int]:
    """Numbers of the documents that went on, in order."""
    return [int(document.key.doc_id[1:]) for document in result.documents]


def reasons(result: StageResult) -> list[str]:
    """Reason of each document that was dropped, "" for the others."""
    return [verdict.reason if verdict.action is Action.DROP else "" for verdict in result.verdicts]


def bundle(rng: np.random.Generator, centre: Sequence[float], n: int, spread: float) -> NDArray[np.float64]:
    """`n` rows around `centre`."""
    middle = np.asarray(centre, dtype=np.float64)
    return middle + rng.normal(scale=spread, size=(n, len(middle)))
