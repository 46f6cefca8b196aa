from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from gnn.relations.combine import FEATURES as PAIR_FEATURES
from gnn.relations.features import N_FEATURES
from gnn.relations.scorer import (
    AGREE,
    CONFLICT,
    MLP,
    NEUTRAL,
    FactCache,
    LexicalRelationScorer,
    RelationScorer,
    softmax,
)
from tests.gnn.parts import FALSE, OTHER, TRUE, linear, relation_network, sentence_pairs

CONTEXT = np.array([[0.9, 1.0, 0.9, 1.0, 1.0, 1.0]] * 3, np.float32)


def test_network_by_hand() -> None:
    network = MLP(
        np.array([1.0, 0.0], np.float32),
        np.array([2.0, 1.0], np.float32),
        (np.eye(2, dtype=np.float32), np.array([[1.0], [-1.0]], np.float32)),
        (np.zeros(2, np.float32), np.array([0.5], np.float32)),
    )
    assert network(np.array([[3.0, 0.5]], np.float32))[0, 0] == pytest.approx(
        np.tanh(1.0) - np.tanh(0.5) + 0.5
    )
    again = MLP.from_arrays(network.to_arrays("net"), "net")
    x = np.random.default_rng(0).normal(size=(5, 2)).astype(np.float32)
    assert np.array_equal(again(x), network(x))


def test_softmax_rows_are_probabilities_even_for_huge_logits() -> None:
    found = softmax(np.array([[0.0, 0.0, 0.0], [1e4, 0.0, -1e4]], np.float32))
    assert found.sum(axis=1) == pytest.approx([1, 1])
    assert found[0] == pytest.approx([1 / 3] * 3)
    assert found[1] == pytest.approx([1, 0, 0])


def test_the_default_scorer_is_a_relation_scorer_and_symmetric() -> None:
    scorer = LexicalRelationScorer(relation_network())
    assert isinstance(scorer, RelationScorer)
    left, right = [TRUE, TRUE, TRUE], [TRUE, FALSE, OTHER]
    found = scorer.score(sentence_pairs(left, right, CONTEXT))
    assert found.argmax(axis=1).tolist() == [AGREE, CONFLICT, NEUTRAL]
    assert np.array_equal(found, scorer.score(sentence_pairs(right, left, CONTEXT)))
    assert found.sum(axis=1) == pytest.approx([1, 1, 1])
    assert scorer.score(sentence_pairs([], [])).shape == (0, 3)
    assert scorer.relate(sentence_pairs([], [])).shape == (0, 2)


def test_a_row_does_not_depend_on_its_company() -> None:
    rng = np.random.default_rng(0)
    network = MLP(
        rng.normal(size=45).astype(np.float32),
        rng.uniform(0.5, 2, 45).astype(np.float32),
        (rng.normal(size=(45, 48)).astype(np.float32), rng.normal(size=(48, 3)).astype(np.float32)),
        (rng.normal(size=48).astype(np.float32), rng.normal(size=3).astype(np.float32)),
    )
    x = rng.normal(size=(203, 45)).astype(np.float32)
    whole = network(x)
    for some in (slice(0, 1), slice(7, 9), slice(100, 203), slice(None, None, -1)):
        assert np.array_equal(network(x[some]), whole[some])


def test_what_the_documents_are_about_is_part_of_what_is_compared() -> None:
    scorer = LexicalRelationScorer(relation_network())
    pairs = sentence_pairs([TRUE], [FALSE], CONTEXT[:1])
    about = replace(pairs, names=[frozenset({"arden", "hall"})])
    without, with_ = scorer.features(pairs), scorer.features(about)
    assert not np.array_equal(without, with_)
    assert np.array_equal(scorer.features(pairs), without)
    assert np.array_equal(LexicalRelationScorer(relation_network()).features(about), with_)


def test_fact_cache_forgets_the_oldest() -> None:
    cache = FactCache(limit=2)
    one = cache.get("One stone.")
    cache.get("Two stones.")
    cache.get("Three stones.")
    assert len(cache._facts) == 2
    assert cache.get("One stone.") == one


@pytest.mark.parametrize("shape", [(N_FEATURES - 1, 3), (N_FEATURES, 2)])
def test_a_network_of_another_size_is_refused(shape: tuple[int, int]) -> None:
    network = MLP(
        np.zeros(shape[0], np.float32), np.ones(shape[0], np.float32),
        (np.zeros(shape, np.float32),), (np.zeros(shape[1], np.float32),),
    )  # fmt: skip
    with pytest.raises(ValueError, match=str(N_FEATURES)):
        LexicalRelationScorer(network)


def test_without_a_second_network_the_strongest_sentence_pair_decides_with_one_it_does() -> None:
    pairs = sentence_pairs([TRUE, TRUE], [TRUE, FALSE], CONTEXT[:2], place=[0, 0])
    plain = LexicalRelationScorer(relation_network())
    assert plain.relate(pairs)[0].argmax() == 1
    by_agreement = linear(PAIR_FEATURES, [{}, {"agree_most": 5.0}, {"conflict_second": 5.0}], [0.0, 0.0, 0.0])
    scorer = LexicalRelationScorer(relation_network(), by_agreement)
    found = scorer.relate(pairs)
    assert found[0].argmax() == 0
    again = LexicalRelationScorer.from_arrays(scorer.to_arrays())
    assert np.array_equal(again.relate(pairs), found)
    assert LexicalRelationScorer.from_arrays(plain.to_arrays()).documents is None
