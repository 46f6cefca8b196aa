from __future__ import annotations

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from gnn.content import FEATURES, content_features
from gnn.round import VerificationRound
from tests.gnn import content_reference
from tests.gnn.parts import EMBEDDER, OTHER, QUESTION, TRUE, a_round


def rows(given_: VerificationRound) -> NDArray[np.float32]:
    return content_features(given_)


def plain(given_: VerificationRound) -> NDArray[np.float32]:
    """The same features document by document."""
    return content_reference.content_features(
        given_.question, given_.texts, given_.sentences, given_.sentence_vectors, given_.vectors,
        given_.question_vector, given_.holders,
    )  # fmt: skip


def named(given_: VerificationRound, i: int) -> dict[str, float]:
    return dict(zip(FEATURES, map(float, rows(given_)[i]), strict=True))


def test_a_document_that_repeats_the_question_shows_it() -> None:
    given_ = a_round([(f"{QUESTION} {TRUE}", ["a"]), (TRUE, ["b"]), (OTHER, ["c"])])
    echo, plain_, other = (named(given_, i) for i in range(3))
    assert echo["question_run"] == 1.0
    assert echo["question_bigrams"] == 1.0
    assert echo["question_words"] == 1.0
    assert echo["question_share"] > plain_["question_share"]
    assert 0.0 < plain_["question_run"] < 1.0
    assert other["question_run"] < plain_["question_run"]
    assert echo["question_share"] > 0.5


def test_longest_run_by_hand() -> None:
    given_ = a_round(
        [("They say the bell of Arden is old.", ["a"])]
    )  # of 10 question words: the bell of arden
    assert named(given_, 0)["question_run"] == pytest.approx(4 / 10)


def test_similarity_is_measured_to_other_sources_documents_only() -> None:
    near = TRUE + " So it is told."
    alone = a_round([(TRUE, ["a"]), (near, ["a"]), (OTHER, ["b"])])
    apart = a_round([(TRUE, ["a"]), (near, ["b"]), (OTHER, ["b"])])
    assert named(alone, 0)["other_cosine_max"] < named(apart, 0)["other_cosine_max"]


def test_holders_and_their_overlap() -> None:
    given_ = a_round(
        [(TRUE, ["a", "b"]), (OTHER, ["a", "b"]), ("A third text.", ["c"])], sources=["a", "b", "c", "d"]
    )
    first, third = named(given_, 0), named(given_, 2)
    assert first["holders"] == pytest.approx(2 / 3)  # d did not answer
    assert first["holder_overlap"] == pytest.approx(1.0)
    assert third["holder_overlap"] == 0.0


def test_one_sentence_and_coherence() -> None:
    given_ = a_round(
        [("One sentence stands alone.", ["a"]), (f"{TRUE} {TRUE.replace('12', '13')} {OTHER}", ["b"])]
    )
    assert named(given_, 0)["one_sentence"] == 1.0
    several = named(given_, 1)
    assert several["one_sentence"] == 0.0
    assert -1.0 <= several["coherence_adjacent_min"] < several["coherence_best"] <= 1.0


def test_a_word_that_the_question_says_twice_is_a_run_of_two() -> None:
    given_ = a_round([("Duran Duran released Rio.", ["a"])], "Duran Duran hits?")
    found = named(given_, 0)
    assert found["question_run"] == pytest.approx(2 / 3)
    assert found["question_bigrams"] == pytest.approx(1 / 2)


def test_no_documents() -> None:
    assert rows(a_round([], sources=["a"])).shape == (0, len(FEATURES))


text = st.one_of(
    st.sampled_from([TRUE, OTHER, QUESTION, "?!", "a", "Short one. Another one. And a third one."]),
    st.text(st.characters(exclude_categories=("Cs", "Cc")), min_size=1, max_size=80).filter(str.strip),
)


@settings(max_examples=40, suppress_health_check=[HealthCheck.too_slow])
@given(texts=st.lists(text, min_size=1, max_size=6), question=text, data=st.data())
def test_any_round_gives_finite_features_that_do_not_depend_on_document_order(
    texts: list[str], question: str, data: st.DataObject
) -> None:
    held = [(t, data.draw(st.lists(st.sampled_from("abc"), min_size=1, unique=True))) for t in texts]
    found = rows(a_round(held, question, sources=["a", "b", "c"]))
    assert found.shape == (len(texts), len(FEATURES))
    assert np.isfinite(found).all()
    assert found == pytest.approx(plain(a_round(held, question, sources=["a", "b", "c"])), abs=2e-5)
    order = data.draw(st.permutations(range(len(held))))
    again = rows(a_round([held[i] for i in order], question, sources=["a", "b", "c"]))
    assert again == pytest.approx(found[list(order)], abs=1e-4)


def test_the_embedder_of_these_tests_aligns_near_texts() -> None:
    a, b = EMBEDDER.embed([TRUE, TRUE + " So it is told."])
    assert float(a @ b) > 0.7
