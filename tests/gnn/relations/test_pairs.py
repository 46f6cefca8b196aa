from __future__ import annotations

from dataclasses import replace

import numpy as np

from tests.gnn.parts import sentence_pairs


def test_texts_are_both_sentences_of_a_row() -> None:
    assert sentence_pairs(["a", "b"], ["c", "d"]).texts() == [("a", "c"), ("b", "d")]


def test_kept_rows_take_only_their_own_documents_along() -> None:
    pairs = replace(
        sentence_pairs(["a", "b", "c", "d"], ["e", "f", "g", "h"], place=[0, 2, 1, 2]),
        names=[frozenset({"first"}), frozenset({"second"}), frozenset({"third"})],
    )
    kept = pairs.rows(np.array([1, 3]))
    assert kept.texts() == [("b", "f"), ("d", "h")]
    assert kept.place.tolist() == [0, 0]
    assert kept.names == [frozenset({"third"})]
    assert kept.documents.tolist() == pairs.documents[[2]].tolist()
    assert kept.context.shape == (2, pairs.context.shape[1])
    nothing = pairs.rows(np.array([], dtype=np.int64))
    assert len(nothing) == len(nothing.documents) == len(nothing.names) == 0
