from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from core.stage import Resources
from defenses.trustrag import Split, TrustRagStage, ado_kept, trustrag_kept, two_clusters
from tests.defenses.rounds import a_round, bundle, kept

TEXTS = [
    "red stones lie under old bridges",
    "quiet rivers carry yellow leaves",
    "seven engines hum beneath towers",
    "bakers trade flour for candles",
    "sailors watch distant lamps nightly",
    "orchards sleep through cold winters",
]
NONE_NEAR = np.zeros((6, 6), dtype=bool)


def run(vectors: np.ndarray, texts: list[str] = TEXTS, **options: Any) -> list[int]:
    stage = TrustRagStage(options, Resources())
    return kept(stage.run(a_round("q", texts[: len(vectors)], vectors)))


def loose_and_tight() -> np.ndarray:
    """Three loose rows, then three that all but coincide."""
    loose = np.array([[1.0, 0.9, 0.0, 0.0], [1.0, 0.0, 0.9, 0.0], [1.0, 0.0, 0.0, 0.9]])
    return np.vstack([loose, bundle(np.random.default_rng(0), [-1.0, 1.0, 1.0, 1.0], 3, 0.01)])


def split(labels: list[int], first: float, second: float) -> Split:
    return Split(np.array(labels), (first, second))


@pytest.mark.parametrize("variant", ["trustrag", "ado"])
def test_the_tight_cluster_goes(variant: str) -> None:
    assert run(loose_and_tight(), variant=variant) == [0, 1, 2]


def test_clusters_by_hand() -> None:
    found = two_clusters(
        np.asarray(loose_and_tight() / np.linalg.norm(loose_and_tight(), axis=1, keepdims=True), np.float32),
        np.random.default_rng(0),
    )
    assert found.labels.tolist() == [0, 0, 0, 1, 1, 1]
    assert found.cosine[0] == pytest.approx(1 / 1.81, abs=1e-4)
    assert found.cosine[1] > 0.99


class TestRules:
    vectors = np.eye(6, dtype=np.float32)

    def test_both_tight_leaves_nothing(self) -> None:
        given = split([0, 0, 0, 1, 1, 1], 0.95, 0.9)
        assert trustrag_kept(given, self.vectors, NONE_NEAR, 0.88) == set()
        assert ado_kept(given, self.vectors, NONE_NEAR, 0.88) == set()

    def test_neither_tight_keeps_all_but_near_duplicates(self) -> None:
        near = NONE_NEAR.copy()
        near[0, 1] = near[1, 0] = True
        given = split([0, 0, 0, 1, 1, 1], 0.5, 0.6)
        assert trustrag_kept(given, self.vectors, near, 0.88) == {2, 3, 4, 5}  # both go
        assert ado_kept(given, self.vectors, near, 0.88) == {0, 2, 3, 4, 5}  # the later goes

    def test_near_duplicates_of_the_first_pair_go_too(self) -> None:
        near = NONE_NEAR.copy()
        for i, j in ((0, 1), (0, 2)):
            near[i, j] = near[j, i] = True
        given = split([0, 0, 0, 1, 1, 1], 0.5, 0.6)
        assert trustrag_kept(given, self.vectors, near, 0.88) == {3, 4, 5}

    def test_a_singleton_beside_a_loose_block_goes(self) -> None:
        given = split([0, 1, 1, 1, 1, 1], 0.0, 0.5)
        assert trustrag_kept(given, self.vectors, NONE_NEAR, 0.88) == {1, 2, 3, 4, 5}

    def test_a_singleton_beside_a_tight_block_stays(self) -> None:
        given = split([0, 1, 1, 1, 1, 1], 0.0, 0.95)
        assert trustrag_kept(given, self.vectors, NONE_NEAR, 0.88) == {0}

    def test_a_singleton_that_belongs_to_the_tight_block_goes_with_it(self) -> None:
        vectors = np.ones((6, 6), dtype=np.float32) / np.sqrt(6).astype(np.float32)
        given = split([0, 1, 1, 1, 1, 1], 0.0, 0.95)
        assert trustrag_kept(given, vectors, NONE_NEAR, 0.88) == set()


def test_two_documents_are_not_judged() -> None:
    assert run(np.ones((2, 3))) == [0, 1]


def test_equal_vectors_are_one_planted_block() -> None:
    assert run(np.ones((4, 3))) == []


def test_the_gate_needs_a_near_duplicate() -> None:
    assert run(loose_and_tight(), ngram_gate=True) == [0, 1, 2, 3, 4, 5]
    copies = [*TEXTS[:4], TEXTS[3], TEXTS[3] + " daily"]
    assert run(loose_and_tight(), copies, ngram_gate=True) == [0, 1, 2]


def test_without_vectors_it_abstains() -> None:
    result = TrustRagStage({}, Resources()).run(a_round("q", TEXTS))
    assert {verdict.reason for verdict in result.verdicts} == {"no_vectors"}
