from __future__ import annotations

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from gnn.relations.documents import DocumentRelations, relate
from gnn.relations.memo import Found, RelationMemo
from gnn.relations.scorer import LexicalRelationScorer
from tests.gnn.parts import FALSE, OTHER, TRUE, a_round, linear, relation_network

TEXTS = [
    TRUE,
    FALSE,
    f"{TRUE} {OTHER}",
    f"{OTHER} {FALSE} So it is told.",
    "Arden Hall has a bell, which weighs 12 kg.",
    "The bell of Velm was never rung in 1512. It is not made of bronze.",
    OTHER,
]


class Counting(LexicalRelationScorer):
    """Counts the pairs of sentences that reach it."""

    judged = 0

    def relate(self, pairs):
        self.judged += len(pairs)
        return super().relate(pairs)


def document_network():
    from gnn.relations.combine import FEATURES

    agree = {"agree_sum": 2.0, "conflict_most": -0.7, "agree_second": 0.3}
    return linear(FEATURES, [{}, agree, {"conflict_sum": 1.5, "conflict_second": 0.2}], [0.3, -0.2, -0.4])


def related(chosen: list[int], memo: RelationMemo | None, scorer: LexicalRelationScorer) -> DocumentRelations:
    """Relations of texts, each held by a source of its own."""
    return relate(scorer, a_round([(TEXTS[i], [f"s{i}"]) for i in chosen]), memo)


def by_texts(found: DocumentRelations, chosen: list[int]) -> dict[tuple[int, ...], tuple[float, ...]]:
    return {
        tuple(sorted((chosen[i], chosen[j]))): told
        for i, j, *told in zip(
            found.left.tolist(), found.right.tolist(), found.agreed.tolist(), found.contested.tolist(),
            found.counted.tolist(), strict=True,
        )
    }  # fmt: skip


@settings(max_examples=60)
@given(
    rounds=st.lists(
        st.lists(st.sampled_from(range(len(TEXTS))), min_size=1, max_size=6, unique=True), max_size=5
    ),
    limit=st.sampled_from([1, 4, 12, 1000]),
)
def test_remembered_relations_are_those_found_anew_to_the_last_bit(
    rounds: list[list[int]], limit: int
) -> None:
    """Whatever company, order and memory two documents are met in."""
    memo, scorer = RelationMemo(limit), LexicalRelationScorer(relation_network(), document_network())
    for chosen in rounds:
        found = by_texts(related(chosen, memo, scorer), chosen)
        alone = {}
        for k, i in enumerate(chosen):
            for j in chosen[k + 1 :]:
                alone |= by_texts(related([i, j], None, scorer), [i, j])
        assert found == alone


def test_pairs_are_judged_once() -> None:
    memo, scorer = RelationMemo(), Counting(relation_network())
    first = related([0, 1, 2], memo, scorer)
    judged = scorer.judged
    assert judged > 0
    again = related([2, 0, 1], memo, scorer)
    assert scorer.judged == judged
    assert by_texts(first, [0, 1, 2]) == by_texts(again, [2, 0, 1])
    related([0, 1, 2, 3], memo, scorer)
    assert scorer.judged > judged
    assert len(memo) == 6


def test_the_same_texts_under_other_vectors_are_others() -> None:
    memo = RelationMemo()
    one, other = np.array([0]), np.array([1])
    vectors = np.eye(2, 4, dtype=np.float32)
    (key,) = memo.keys(["a", "b"], vectors, one, other)
    assert memo.keys(["b", "a"], vectors[::-1], one, other) == [key]
    assert memo.keys(["a", "b"], 2 * vectors, one, other) != [key]
    assert memo.keys(["a", "c"], vectors, one, other) != [key]


def test_a_full_memo_starts_anew() -> None:
    memo = RelationMemo(limit=2)
    vectors = np.eye(3, dtype=np.float32)
    found = Found(np.array([0.5], np.float32), np.array([0.25], np.float32), np.array([3]))
    for other in (1, 2):
        keys = memo.keys("abc", vectors, np.array([0]), np.array([other]))
        memo.learn(keys, found)
    assert len(memo) == 2
    assert [column.tolist() for column in memo.take(memo.rows(keys))] == [[0.5], [0.25], [3]]
    memo.keys("abc", vectors, np.array([1]), np.array([2]))
    assert len(memo) == 0
