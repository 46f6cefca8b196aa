from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

from core.embedding.base import unit_rows
from gnn.relations.align import _by_document, _densely, align
from gnn.relations.documents import COSINE_FLOOR


def angles(*degrees: float) -> NDArray[np.float32]:
    radians = np.deg2rad(np.array(degrees))
    return np.column_stack([np.cos(radians), np.sin(radians)]).astype(np.float32)


def limits(allowed: NDArray[np.bool_], floor: float | NDArray[np.float32] = COSINE_FLOOR):
    return np.where(np.triu(allowed, 1), np.asarray(floor, np.float32), np.float32(np.inf))


def pairs(vectors: NDArray[np.float32], document_of: list[int], allowed: NDArray[np.bool_] | None = None):
    n = max(document_of) + 1
    everyone = ~np.eye(n, dtype=bool) if allowed is None else allowed
    found = align(vectors, np.array(document_of), limits(everyone))
    return {
        (int(a), int(b)): (float(c), bool(m))
        for a, b, c, m in zip(found.left, found.right, found.cosine, found.mutual, strict=True)
    }


def test_best_matches_by_hand() -> None:
    """Document 0 at 0 and 40 degrees, document 1 at 5 and 20 degrees.

    0-5: mutual. 40: its best is 20 (cos 20), and 20's best is 0 or 40 alike, at 20 degrees each.
    """
    found = pairs(angles(0, 41, 5, 21), [0, 0, 1, 1])
    assert found[0, 2] == (pytest.approx(np.cos(np.deg2rad(5)), abs=1e-6), True)
    assert found[1, 3] == (pytest.approx(np.cos(np.deg2rad(20)), abs=1e-6), True)
    assert (1, 2) not in found  # neither is the other's best
    assert (0, 3) not in found


def test_the_best_of_one_side_alone_counts_but_is_not_mutual() -> None:
    found = pairs(angles(0, 30, 10), [0, 0, 1])
    assert found[0, 2][1] is True
    assert found[1, 2][1] is False  # the sentence at 30 degrees has no nearer one, 10's best is 0


def test_below_the_floor_nothing_is_aligned() -> None:
    beyond = float(np.rad2deg(np.arccos(COSINE_FLOOR))) + 1
    assert pairs(angles(0, beyond), [0, 1]) == {}
    assert pairs(angles(0, beyond - 2), [0, 1]) != {}


def test_only_allowed_documents_are_compared() -> None:
    allowed = np.zeros((3, 3), bool)
    allowed[0, 2] = allowed[2, 0] = True
    assert set(pairs(angles(0, 1, 2), [0, 1, 2], allowed)) == {(0, 2)}


def test_documents_without_sentences_and_rounds_of_one_document() -> None:
    found = align(angles(0, 3), np.array([0, 3]), limits(~np.eye(5, dtype=bool)))
    assert (found.left.tolist(), found.right.tolist()) == ([0], [1])
    assert len(align(angles(0, 3), np.array([1, 1]), limits(~np.eye(2, dtype=bool))).left) == 0
    assert (
        len(align(np.zeros((0, 2), np.float32), np.zeros(0, int), limits(np.zeros((0, 0), bool))).left) == 0
    )


def rounds(counts: list[int], seed: int):
    rng = np.random.default_rng(seed)
    document_of = np.repeat(np.arange(len(counts)), counts)
    vectors = unit_rows(rng.normal(size=(len(document_of), 3)))
    allowed = rng.random((len(counts), len(counts))) < 0.7
    allowed = allowed | allowed.T
    np.fill_diagonal(allowed, False)
    return vectors, document_of, allowed


@given(counts=st.lists(st.integers(0, 4), min_size=2, max_size=6), seed=st.integers(0, 10**6))
def test_equal_to_a_plain_search(counts: list[int], seed: int) -> None:
    vectors, document_of, allowed = rounds(counts, seed)
    found = align(vectors, document_of, limits(allowed))
    wanted = {}
    cosine = vectors @ vectors.T
    for a in range(len(document_of)):
        for b in range(a + 1, len(document_of)):
            i, j = document_of[a], document_of[b]
            if i != j and allowed[i, j] and cosine[a, b] >= COSINE_FLOOR:
                for_a = cosine[a, b] >= cosine[a, document_of == j].max()
                for_b = cosine[a, b] >= cosine[document_of == i, b].max()
                if for_a or for_b:
                    wanted[a, b] = bool(for_a and for_b)
    keys = zip(found.left.tolist(), found.right.tolist(), strict=True)
    assert dict(zip(keys, found.mutual.tolist(), strict=True)) == wanted


@given(counts=st.lists(st.integers(0, 4), min_size=1, max_size=8), seed=st.integers(0, 10**6))
def test_many_sentences_are_aligned_document_by_document_with_the_same_result(
    counts: list[int], seed: int
) -> None:
    vectors, document_of, allowed = rounds(counts, seed)
    floors = np.random.default_rng(seed).uniform(-0.5, 0.9, size=allowed.shape).astype(np.float32)
    limit = np.where(np.triu(allowed, 1), floors, np.float32(np.inf))
    dense = _densely(vectors, document_of, limit)
    sparse = _by_document(vectors, document_of, limit)
    order = np.lexsort((sparse[1], sparse[0]))
    assert sparse[0][order].tolist() == dense[0].tolist()
    assert sparse[1][order].tolist() == dense[1].tolist()
    assert sparse[2][order] == pytest.approx(dense[2], abs=1e-6)


def test_a_big_round_takes_the_second_way(monkeypatch: pytest.MonkeyPatch) -> None:
    vectors, document_of, allowed = rounds([3, 4, 2, 4], 1)
    given_ = vectors, document_of, limits(allowed)
    wanted = align(*given_)
    monkeypatch.setattr("gnn.relations.align._DENSE", 5)
    found = align(*given_)
    assert set(zip(found.left.tolist(), found.right.tolist(), found.mutual.tolist(), strict=True)) == set(
        zip(wanted.left.tolist(), wanted.right.tolist(), wanted.mutual.tolist(), strict=True)
    )


def test_each_pair_of_documents_may_have_its_own_floor() -> None:
    vectors, document_of = angles(0, 40, 80), np.array([0, 1, 2])
    floor = np.full((3, 3), 0.9, np.float32)
    floor[0, 1] = floor[1, 0] = 0.7  # cos 40 is .77
    found = align(vectors, document_of, limits(~np.eye(3, dtype=bool), floor))
    assert list(zip(found.left.tolist(), found.right.tolist(), strict=True)) == [(0, 1)]
