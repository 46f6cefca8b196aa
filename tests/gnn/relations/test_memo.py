from __future__ import annotations

import copy
import pickle
import threading

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from gnn.relations.documents import DocumentRelations, relate
from gnn.relations.memo import Found, Recalled, RelationMemo
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
    """Relations of texts, each held by a source of its own; a text may come twice."""
    return relate(scorer, a_round([(TEXTS[i], [f"s{k}"]) for k, i in enumerate(chosen)]), memo)


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
    rounds=st.lists(st.lists(st.sampled_from(range(len(TEXTS))), min_size=1, max_size=6), max_size=5),
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
    keys, _, new = memo.recall(["a", "b"], vectors, one, other)
    assert new.tolist() == [0]
    assert memo.recall(["b", "a"], vectors[::-1], one, other).keys == keys
    assert memo.recall(["a", "b"], 2 * vectors, one, other).keys != keys
    assert memo.recall(["a", "c"], vectors, one, other).keys != keys


FOUND = Found(np.array([0.5], np.float32), np.array([0.25], np.float32), np.array([3]))


def met(memo: RelationMemo, *pairs: tuple[int, int]) -> Recalled:
    one, other = (np.array(side) for side in zip(*pairs, strict=True))
    return memo.recall("abc", np.eye(3, dtype=np.float32), one, other)


def test_for_what_is_new_and_does_not_fit_all_is_dropped_and_no_number_is_given_twice() -> None:
    memo = RelationMemo(limit=2)
    for pair in ((0, 1), (0, 2)):
        memo.learn(met(memo, pair).keys, FOUND)
    known = met(memo, (0, 1), (0, 2))  # a full memo still tells what it knows
    assert len(known.new) == 0
    assert [column.tolist() for column in known.found] == [[0.5] * 2, [0.25] * 2, [3] * 2]
    anew = met(memo, (0, 1), (1, 2))
    assert len(memo) == 0
    assert anew.new.tolist() == [0, 1]
    assert not set(anew.keys) & set(known.keys)
    memo.learn(known.keys[:1], FOUND)  # what another thread recalled before harms nothing
    assert met(memo, (0, 1)).new.tolist() == [0]
    memo.learn([1, 2, 3], Found(*(np.repeat(column, 3) for column in FOUND)))
    assert len(memo) == 2


def test_long_texts_do_not_fill_the_memory() -> None:
    memo = RelationMemo(most_bytes=10_000)
    vectors = np.eye(2, dtype=np.float32)
    for i in range(30):
        texts = [f"{i} " * 500, "short"]
        memo.learn(memo.recall(texts, vectors, np.array([0]), np.array([1])).keys, FOUND)
        assert sum(len(text) for text, _ in memo._documents) < 12_000
    assert memo.recall([], vectors[:0], np.zeros(0, int), np.zeros(0, int)).keys == []


def test_a_copy_begins_empty() -> None:
    memo = RelationMemo(limit=7)
    memo.learn(met(memo, (0, 1)).keys, FOUND)
    for copied in (copy.deepcopy(memo), pickle.loads(pickle.dumps(memo))):
        assert len(copied) == 0
        assert met(copied, (0, 1)).new.tolist() == [0]


def test_threads_share_one_memo() -> None:
    """Each thread finds what it would find alone, although the memo is dropped all the time."""
    memo, scorer = RelationMemo(limit=12), LexicalRelationScorer(relation_network())
    chosen = [[i, j, k] for i in range(5) for j in range(i) for k in range(j)]
    wanted = [by_texts(related(c, None, scorer), c) for c in chosen]
    wrong = []

    def work(step: int) -> None:
        for k in range(0, 60):
            i = k * step % len(chosen)
            if by_texts(related(chosen[i], memo, scorer), chosen[i]) != wanted[i]:
                wrong.append(i)

    threads = [threading.Thread(target=work, args=(step,)) for step in (1, 3, 7)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not wrong
