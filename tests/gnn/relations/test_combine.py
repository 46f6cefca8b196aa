from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from gnn.relations.combine import FEATURES, pair_features, strongest
from gnn.relations.features import CONTEXT_FEATURES
from tests.gnn.parts import sentence_pairs

probability = st.floats(0.0, 1.0, width=32)


def context(p: int, mutual: list[int] | None = None) -> np.ndarray:
    rows = np.zeros((p, len(CONTEXT_FEATURES)), np.float32)
    rows[:, CONTEXT_FEATURES.index("mutual")] = 1 if mutual is None else mutual
    return rows


def rows_of(agree: list[float], conflict: list[float], place: list[int], mutual: list[int] | None = None):
    pairs = sentence_pairs([""] * len(agree), [""] * len(agree), context(len(agree), mutual), place)
    found = pair_features(np.array(agree, np.float32), np.array(conflict, np.float32), pairs)
    return [dict(zip(FEATURES, row.tolist(), strict=True)) for row in found]


def logit(p: float) -> float:
    return float(np.log(p / (1 - p)))


def test_the_strongest_sentence_pair_decides_and_conflict_comes_first() -> None:
    pairs = sentence_pairs([""] * 3, [""] * 3, place=[0, 0, 1])
    found = strongest(np.array([0.9, 0.4, 0.7], np.float32), np.array([0.0, 0.5, 0.1], np.float32), pairs)
    assert found == pytest.approx(np.array([[0.45, 0.5], [0.63, 0.1]]))


def test_two_largest_sums_and_count_by_hand() -> None:
    first, second = rows_of([0.9, 0.5, 0.2], [0.1, 0.3, 0.6], [0, 0, 1], mutual=[1, 0, 1])
    assert first["agree_most"] == pytest.approx(logit(0.9), abs=1e-5)
    assert first["agree_second"] == pytest.approx(logit(0.5), abs=1e-5)
    assert first["conflict_most"] == pytest.approx(logit(0.3), abs=1e-5)
    assert first["conflict_mutual"] == pytest.approx(logit(0.1), abs=1e-5)
    assert first["conflict_sum"] == pytest.approx(np.log1p(0.4), abs=1e-6)
    assert first["count"] == pytest.approx(np.log(2), abs=1e-6)
    assert second["conflict_most"] == pytest.approx(logit(0.6), abs=1e-5)
    assert second["conflict_second"] == pytest.approx(logit(1e-3), abs=1e-4)  # there is no second pair
    assert second["count"] == 0.0


@given(
    st.lists(st.tuples(probability, probability, st.integers(0, 3)), min_size=1, max_size=20), st.randoms()
)
def test_the_order_of_sentence_pairs_does_not_matter(pairs, random) -> None:
    used = sorted({place for *_, place in pairs})
    pairs = [(a, c, used.index(place)) for a, c, place in pairs]
    one = rows_of(*(list(column) for column in zip(*pairs, strict=True)))
    random.shuffle(pairs)
    other = rows_of(*(list(column) for column in zip(*pairs, strict=True)))
    for left, right in zip(one, other, strict=True):
        assert left == pytest.approx(right, abs=1e-5)
        assert np.isfinite(list(left.values())).all()
        assert left["conflict_most"] >= left["conflict_second"]
