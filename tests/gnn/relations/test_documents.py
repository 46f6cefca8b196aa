from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pytest

from core.embedding.base import unit_rows
from gnn.relations import documents
from gnn.relations.documents import (
    COSINE_FLOOR,
    NEAREST,
    SAME_SUBJECT_FLOOR,
    DocumentRelations,
    nearest_of_each_source,
    pair_sentences,
    relate,
)
from gnn.relations.scorer import LexicalRelationScorer
from tests.gnn.parts import FALSE, OTHER, TRUE, a_round, relation_network, relations_of


def related(held: Sequence[tuple[str, Sequence[str]]]) -> DocumentRelations:
    given = a_round(held)
    scorer = LexicalRelationScorer(relation_network())
    return relate(scorer, given)


def test_agreement_conflict_and_silence() -> None:
    found = related([(TRUE, ["a"]), (TRUE + " So it is told.", ["b"]), (FALSE, ["c"]), (OTHER, ["d"])])
    assert found.agree[0, 1] > 0.5 > found.conflict[0, 1]
    assert found.conflict[0, 2] > 0.5
    assert found.conflict[1, 2] > 0.5
    assert found.agree[0, 3] == found.conflict[0, 3] == 0.0
    dispute = found.matrix(found.dispute)
    assert dispute[0, 2] > 0.9
    assert dispute[0, 1] < 0.1
    for matrix in (found.agree, found.conflict, found.cosine, found.aligned):
        assert np.array_equal(matrix, matrix.T)
        assert not np.diagonal(matrix).any()


def test_a_source_cannot_corroborate_itself() -> None:
    alone = related([(TRUE, ["a"]), (TRUE + " So it is told.", ["a"])])
    assert not alone.agree.any()
    assert not alone.aligned.any()
    apart = related([(TRUE, ["a"]), (TRUE + " So it is told.", ["b"])])
    assert apart.agree[0, 1] > 0.5


def test_nor_can_it_contradict_itself_but_a_shared_document_is_compared() -> None:
    assert not related([(TRUE, ["a"]), (FALSE, ["a"])]).conflict.any()
    assert related([(TRUE, ["a", "b"]), (FALSE, ["a"])]).conflict[0, 1] > 0.5


def test_one_false_sentence_outweighs_those_that_agree() -> None:
    both = related([(f"{TRUE} {OTHER}", ["a"]), (f"{FALSE} {OTHER}", ["b"])])
    assert both.conflict[0, 1] > 0.5
    assert both.agree[0, 1] < 0.5
    assert both.aligned[0, 1] >= 2


def test_strength_and_dispute_by_hand() -> None:
    found = relations_of(3, [(0, 1, 0.6), (0, 2, 0.9)], [(0, 1, 0.2), (0, 2, 0.9)])
    assert (found.left.tolist(), found.right.tolist()) == ([0, 0], [1, 2])
    assert found.strength.tolist() == pytest.approx([0.8, 1.0])
    assert found.dispute.tolist() == pytest.approx([0.25, 0.5])
    assert found.degree(found.agreed).tolist() == pytest.approx([1.5, 0.6, 0.9])


def test_the_gate_takes_weight_from_pairs_of_suspects() -> None:
    found = relations_of(3, [(0, 1, 0.8), (1, 2, 0.8)])
    gated = found.gated(np.array([1.0, 0.5, 0.0], np.float32))
    assert gated.agree[0, 1] == pytest.approx(0.4)
    assert gated.agree[1, 2] == 0.0


def test_empty_and_single_rounds() -> None:
    given = a_round([], sources=["a"])
    scorer = LexicalRelationScorer(relation_network())
    nothing = relate(scorer, given)
    assert nothing.agree.shape == (0, 0)
    assert related([(TRUE, ["a"])]).agree.tolist() == [[0.0]]


def test_in_a_big_round_each_document_meets_the_nearest_of_every_source() -> None:
    rng = np.random.default_rng(0)
    n, m = 300, 10
    holders = np.zeros((n, m), bool)
    holders[np.arange(n), np.arange(n) % m] = True
    vectors = rng.normal(size=(n, 8)).astype(np.float32)
    vectors /= np.linalg.norm(vectors, axis=1, keepdims=True)
    cosine = vectors @ vectors.T
    allowed = ~(holders.astype(int) @ holders.T.astype(int) > 0)
    near = nearest_of_each_source(cosine, holders, allowed) & allowed
    assert np.array_equal(near, near.T)
    share = round(NEAREST / (m - 1))
    for i in (0, 17, 299):
        for j in range(m):
            if not holders[i, j]:
                held = np.flatnonzero(holders[:, j])
                best = held[np.argsort(-cosine[i, held])[:share]]
                assert near[i, best].all()
    assert near.sum(axis=1).mean() <= 2 * NEAREST


def test_one_source_cannot_crowd_out_the_others() -> None:
    """Two hundred near copies from one source leave a document's honest counterpart among its nearest."""
    held = [(TRUE, ["a"]), (f"{TRUE} So it is told in the annals of the north.", ["b"])]
    held += [(f"{FALSE} Note {chr(97 + i % 26)}{chr(97 + i // 26)}zz.", ["flood"]) for i in range(200)]
    found = related(held)
    assert found.agree[0, 1] > 0.3


def test_just_beyond_the_limit_every_document_still_meets_every_source(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    held = [
        (f"{TRUE if i % 4 else FALSE} Record {chr(97 + i) * 4} says so.", [f"s{i % 5}"]) for i in range(20)
    ]
    whole = related(held)
    monkeypatch.setattr(documents, "ALL_PAIRS", 10)
    bounded = related(held)
    kept = bounded.aligned > 0
    assert kept.sum() < (whole.aligned > 0).sum()
    owner = np.arange(20) % 5
    for i in range(20):
        assert set(owner[kept[i]]) == set(range(5)) - {owner[i]}
    assert np.array_equal(bounded.agree[kept], whole.agree[kept])
    assert np.array_equal(bounded.conflict[kept], whole.conflict[kept])


def aligned(left: str, right: str, cosine: float) -> int:
    """How many sentence pairs two documents of one sentence have if these are `cosine` alike."""
    vectors = unit_rows(np.array([[1.0, 0.0], [cosine, (1 - cosine**2) ** 0.5]], np.float32))
    only = np.array([0]), np.array([1])
    return len(pair_sentences([[left], [right]], vectors, np.ones((2, 2), np.float32), *only))


def test_about_one_subject_sentences_less_alike_are_compared_about_two_none() -> None:
    between = (COSINE_FLOOR + SAME_SUBJECT_FLOOR) / 2
    velm, also, other = (
        "They say Velm was founded in 1512.",
        "In 1730 work began on Velm.",
        "Nobody saw Orsk.",
    )
    assert aligned(velm, also, between) == 1
    assert aligned(velm, also, SAME_SUBJECT_FLOOR - 0.01) == 0
    assert aligned(velm, other, 0.9) == 0
    assert aligned("it is old.", "it is new.", between) == 0  # no subject is known
    assert aligned("it is old.", "it is new.", 0.9) == 1
