from __future__ import annotations

import numpy as np
import pytest

from core.stage import Resources
from defenses.ragdefender import (
    RagDefenderStage,
    clustered_count,
    concentrated_count,
    pair_frequency,
)
from tests.defenses.rounds import a_round, bundle, kept

TEXTS = [
    "alpha stone",
    "river beta",
    "gamma hill",
    "planted lie here",
    "planted lie there",
    "planted lie now",
]


def vectors() -> np.ndarray:
    loose = np.array([[1.0, 0.9, 0.0, 0.0], [1.0, 0.0, 0.9, 0.0], [1.0, 0.0, 0.0, 0.9]])
    return np.vstack([loose, bundle(np.random.default_rng(0), [-1.0, 1.0, 1.0, 1.0], 3, 0.01)])


def test_the_similar_three_go() -> None:
    stage = RagDefenderStage({}, Resources())
    result = stage.run(a_round("q", TEXTS, vectors()))
    assert kept(result) == [0, 1, 2]
    assert result.notes["planted"] == 3
    worst = max(v.credibility or 0.0 for v in result.verdicts[3:])
    assert worst < min(v.credibility or 0.0 for v in result.verdicts[:3])


def test_the_concentrated_majority_goes() -> None:
    rows = vectors()[[0, 1, 3, 4, 5, 3]]
    stage = RagDefenderStage({"grouping": "concentration"}, Resources())
    assert kept(stage.run(a_round("q", TEXTS, rows))) == [0, 1]


def test_counts_by_hand() -> None:
    similar = np.full((5, 5), 0.1)
    similar[:3, :3] = 0.9
    np.fill_diagonal(similar, 1.0)
    apart = ["stone", "river", "hill", "lamp", "boat"]
    assert concentrated_count(similar) == 3
    assert clustered_count(similar, apart, 2) in (1, 2)  # the smaller cluster
    crowded = ["planted lie"] * 4 + ["x"]
    assert clustered_count(similar, crowded, 2) in (3, 4)  # the larger one


def test_pair_frequency_by_hand() -> None:
    similar = np.array(
        [[1.0, 0.9, 0.8, 0.1], [0.9, 1.0, 0.7, 0.2], [0.8, 0.7, 1.0, 0.3], [0.1, 0.2, 0.3, 1.0]]
    )
    assert pair_frequency(similar, 3) == pytest.approx([1.7, 1.6, 1.5, 0.0])
    assert pair_frequency(similar, 2) == pytest.approx([0.9, 0.9, 0.0, 0.0])
    assert int(pair_frequency(similar, 1).argmax()) == 3  # alone, it is the odd one out


def test_few_documents_and_no_vectors() -> None:
    stage = RagDefenderStage(None, Resources())
    assert kept(stage.run(a_round("q", TEXTS[:2], np.eye(2)))) == [0, 1]
    assert kept(stage.run(a_round("q", TEXTS))) == [0, 1, 2, 3, 4, 5]


def test_equal_documents_leave_one() -> None:
    stage = RagDefenderStage(None, Resources())
    assert len(kept(stage.run(a_round("q", ["a b"] * 4, np.ones((4, 3)))))) >= 1
