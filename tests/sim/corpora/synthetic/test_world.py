from __future__ import annotations

import itertools
import pickle
from collections import Counter

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from core.errors import ConfigError
from core.text import contains_answer, sentences
from sim.corpora.synthetic import SyntheticWorld, build_world


@pytest.fixture(scope="module")
def world():
    return build_world(900, seed=4, wordings=3)


def test_passages_have_several_sentences_and_40_to_120_words(world) -> None:
    for document in world.documents:
        assert 40 <= len(document.text.split()) <= 120
        assert len(sentences(document.text)) >= 3
        assert document.title in document.text


def test_wordings_of_a_group_are_independent(world) -> None:
    for start in range(0, 900, 3):
        told = [set(sentences(document.text)) for document in world.documents[start : start + 3]]
        fillers = {filler for filler, n in Counter(itertools.chain(*told)).items() if n > 1}
        for left, right in itertools.combinations(told, 2):
            assert len((left & right) - fillers) == 0
            assert len(left & right) <= 2
    assert len({document.text for document in world.documents}) == 900
    assert world.groups == [i // 3 for i in range(900)]


def test_every_wording_holds_the_answer_and_no_poison_does(world) -> None:
    texts = world.texts()
    assert len(world.questions) == 300
    for question in world.questions:
        poison = world.poisons[question.query_id]
        assert len(world.qrels[question.query_id]) == 3
        for relevant in world.qrels[question.query_id]:
            assert any(contains_answer(texts[relevant], answer) for answer in question.answers)
        assert len(set(poison.texts)) == 5
        assert poison.target_answer not in question.answers
        for text in poison.texts:
            assert not any(contains_answer(text, answer) for answer in question.answers)


def test_questions_ask_about_every_category(world) -> None:
    categories = {d.doc_id: d.category for d in world.documents}
    asked = Counter(categories[next(iter(ids))] for ids in world.qrels.values())
    assert len(asked) == 6


def test_near_misses_share_words_of_their_names(world) -> None:
    words = Counter(word for title in {d.title for d in world.documents} for word in title.split())
    assert sum(n > 1 and len(word) > 5 for word, n in words.items()) > 50


@given(st.integers(1, 60), st.integers(0, 2**40), st.integers(1, 7))
@settings(max_examples=25)
def test_any_size_is_met_exactly_and_deterministically(n: int, seed: int, wordings: int) -> None:
    a, b = build_world(n, seed, wordings), build_world(n, seed, wordings)
    assert a.documents == b.documents
    assert a.questions == b.questions
    assert a.poisons == b.poisons
    assert len(a.documents) == n == len(a.groups or ())
    assert len({d.doc_id for d in a.documents}) == n


def test_documents_are_streamed() -> None:
    million = SyntheticWorld(1_000_000, seed=1, wordings=3)
    first = list(itertools.islice(million.documents(), 6))
    assert [d.text for d in first[:3]] == [d.text for d in SyntheticWorld(3, seed=1).documents()]
    assert sum(1 for _ in itertools.islice(million.questions(), 20)) == 20
    assert million.n_groups == 333_334


def test_sizes_out_of_range() -> None:
    with pytest.raises(ConfigError, match="1 to 10,000,000 documents, not 0"):
        build_world(0)
    with pytest.raises(ConfigError, match="wordings of a fact, not 0"):
        build_world(10, wordings=0)


def test_falsified_tellings_of_a_group_tell_one_other_story() -> None:
    corpus = build_world(90, seed=2, wordings=3)
    world = pickle.loads(pickle.dumps(corpus.world))
    for number in range(0, 30, 7):
        telling = corpus.documents[3 * number : 3 * number + 3]
        altered = [world.falsify(d.doc_id, d.text, np.random.default_rng(5)) for d in telling]
        assert all(new != d.text for new, d in zip(altered, telling, strict=True))
        values = world.values(telling[0].doc_id)
        lost = [
            {
                k
                for k, forms in enumerate(values)
                if any(f in d.text for f in forms) and not any(f in new for f in forms)
            }
            for new, d in zip(altered, telling, strict=True)
        ]
        assert set.intersection(*lost)  # at least one core fact changed in all of them
    assert world.group_of("w0000003-01") == 3
    assert world.group_of("elsewhere") is None
    assert world.values("elsewhere") == ()
    assert world.falsify("elsewhere", "a text", np.random.default_rng(0)) == "a text"
