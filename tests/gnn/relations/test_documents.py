from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pytest

from gnn.relations.documents import DocumentRelations, relate
from gnn.relations.scorer import LexicalRelationScorer
from tests.gnn.parts import FALSE, OTHER, TRUE, a_round, relation_network, relations_of


def related(held: Sequence[tuple[str, Sequence[str]]]) -> DocumentRelations:
    given = a_round(held)
    scorer = LexicalRelationScorer(relation_network())
    return relate(scorer, given.sentences, given.sentence_vectors, given.vectors, given.holders)


def test_agreement_conflict_and_silence() -> None:
    found = related([(TRUE, ["a"]), (TRUE + " So it is told.", ["b"]), (FALSE, ["c"]), (OTHER, ["d"])])
    assert found.agree[0, 1] > 0.5 > found.conflict[0, 1]
    assert found.conflict[0, 2] > 0.5
    assert found.conflict[1, 2] > 0.5
    assert found.agree[0, 3] == found.conflict[0, 3] == 0.0
    assert found.dispute[0, 2] > 0.9
    assert found.dispute[0, 1] < 0.1
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
    assert found.strength[0].tolist() == pytest.approx([0, 0.8, 1.0])
    assert found.dispute[0].tolist() == pytest.approx([0, 0.25, 0.5])


def test_the_gate_takes_weight_from_pairs_of_suspects() -> None:
    found = relations_of(3, [(0, 1, 0.8), (1, 2, 0.8)])
    gated = found.gated(np.array([1.0, 0.5, 0.0], np.float32))
    assert gated.agree[0, 1] == pytest.approx(0.4)
    assert gated.agree[1, 2] == 0.0


def test_empty_and_single_rounds() -> None:
    given = a_round([], sources=["a"])
    scorer = LexicalRelationScorer(relation_network())
    nothing = relate(scorer, given.sentences, given.sentence_vectors, given.vectors, given.holders)
    assert nothing.agree.shape == (0, 0)
    assert related([(TRUE, ["a"])]).agree.tolist() == [[0.0]]
