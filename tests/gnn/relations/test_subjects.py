from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gnn.relations import subjects as module
from gnn.relations.subjects import FEATURES, document_subject, subject_features

TOWN = ["Arden was founded in 1512.", "It lies on a river.", "Guides like Arden."]
SAME = ["The oldest houses of Arden date from 1512.", "Barges still stop at Arden."]
LONGER = ["Arden Parva was founded in 1730.", "Few visit Arden Parva."]
OTHER = ["Velm was founded in 1730.", "Its neighbour is Arden.", "Velm has a mill."]
NOBODY = ["it was founded in 1512.", "there is a mill."]


def features(*documents: list[str]) -> np.ndarray:
    return table(documents)[:, 0, 1]


def table(documents) -> np.ndarray:
    """The features of every two documents, (len(FEATURES), n, n)."""
    n = len(documents)
    i, j = (index.ravel() for index in np.indices((n, n)))
    found = subject_features([document_subject(tuple(own)) for own in documents], i, j)
    return found.T.reshape(len(FEATURES), n, n)


def test_the_subject_is_what_a_document_repeats():
    assert document_subject(tuple(TOWN)).names == {"arden"}
    assert document_subject(tuple(LONGER)).names == {"arden", "parva"}
    assert document_subject(tuple(OTHER)).names == {"velm"}
    assert document_subject(tuple(NOBODY)).names == frozenset()
    assert document_subject(("Arden was studied.", "The mill is old.")).names == {"arden"}
    assert "mill" in document_subject(tuple(NOBODY)).words


def test_without_repetition_the_first_name_inside_a_sentence_counts():
    assert document_subject(("Guides praise Arden.", "Then they go to Velm.")).names == {"arden"}


def test_a_word_that_is_also_written_small_is_no_name():
    assert document_subject(("Mills grind.", "Mills stop.", "The mills of old.")).names == frozenset()
    assert document_subject(("The mills of Arden.", "Mills stop.", "Mills grind.")).names == {"arden"}


def test_possessives_are_the_same_name():
    assert document_subject(("Arden's mill is old.", "Nobody knows Arden.")).names == {"arden"}


def test_pairs():
    np.testing.assert_allclose(features(TOWN, SAME), [1, 1, 1])
    np.testing.assert_allclose(features(TOWN, LONGER), [0.5, 0.75, 1])
    np.testing.assert_allclose(features(TOWN, OTHER), [0, 0.5, 1])
    np.testing.assert_allclose(features(TOWN, NOBODY), [0, 0, 0])
    assert table([]).shape == (len(FEATURES), 0, 0)


@given(st.lists(st.lists(st.text(max_size=30), max_size=4), min_size=2, max_size=4))
def test_any_documents_give_symmetric_features_between_0_and_1(documents):
    found = table(documents)
    assert ((found >= 0) & (found <= 1)).all()
    np.testing.assert_array_equal(found, found.transpose(0, 2, 1))


documents_alike = st.lists(
    st.lists(st.sampled_from([*TOWN, *LONGER, *OTHER, *NOBODY]), max_size=4), max_size=6
)


@given(documents_alike, st.sampled_from([0, 50_000]))
def test_the_table_counts_names_as_sets_do(documents, dense):
    subjects = [document_subject(tuple(own)) for own in documents]
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(module, "_DENSE", dense)  # a join of names, or a product
        shared, mentioned, known = table(documents)
    for i, a in enumerate(subjects):
        for j, b in enumerate(subjects):
            most = max(1, len(a.names), len(b.names))
            assert shared[i, j] == np.float32(len(a.names & b.names) / most)
            there = len(a.names & b.words) / max(1, len(a.names))
            back = len(b.names & a.words) / max(1, len(b.names))
            assert abs(mentioned[i, j] - (there + back) / 2) < 1e-6
            assert known[i, j] == bool(a.names and b.names)


@settings(max_examples=25)
@given(documents_alike, st.integers(0, 20))
def test_many_names_in_common_are_counted_in_parts_with_the_same_result(documents, at_once):
    wanted = table(documents)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(module, "_DENSE", 0)
        patch.setattr(module, "_AT_ONCE", at_once)
        np.testing.assert_array_equal(table(documents), wanted)


def test_a_made_up_text_has_no_more_names_than_a_long_real_one():
    names = [f"Zor{chr(97 + i // 26)}{chr(97 + i % 26)}k" for i in range(500)]
    once = (" ".join(names) + ".",)
    assert len(document_subject(once).names) == 64
    repeated = (*once, *once, f"{names[450]} and {names[451]} again.")
    found = document_subject(repeated).names
    assert len(found) == 64
    assert {names[450].lower(), names[451].lower()} <= found
