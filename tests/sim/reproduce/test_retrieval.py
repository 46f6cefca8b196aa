"""Scenes of retrieval under attack, and how SR and ASR are counted in them."""

from __future__ import annotations

import numpy as np
import pytest

from core.embedding.cache import CachedEmbedder
from core.embedding.hashing import HashingEmbedder
from core.errors import DataError
from core.records import Document
from core.stage import Resources
from defenses.always import AlwaysDropStage
from defenses.ragmask.mask import MaskConfig
from defenses.ragpart.poll import Aggregation
from sim.attacks.query_as_poison import QueryCrafter
from sim.corpora.records import Corpus, Question
from sim.progress import Quiet
from sim.reproduce.retrieval import Masking, Scene, Staged, Undefended, Voting, measure, poison, set_scene

EMBEDDER = CachedEmbedder(HashingEmbedder(512))
QUESTIONS = ("who opened the old harbour gate", "where do grey herons nest", "which mill grinds barley flour")


def a_corpus(n: int = 40) -> Corpus:
    """Each question with a document that says its words, among `n` documents of other words."""
    rng = np.random.default_rng(0)
    golds = [
        Document(f"g{i}", f"{text}. " + " ".join(f"gold{i}word{j}" for j in range(6)))
        for i, text in enumerate(QUESTIONS)
    ]
    others = [Document(f"d{i}", " ".join(f"word{w}" for w in rng.integers(0, 900, 30))) for i in range(n)]
    questions = [Question(f"q{i}", text, ("x",)) for i, text in enumerate(QUESTIONS)]
    return Corpus("made", [*golds, *others], questions, {f"q{i}": {f"g{i}"} for i in range(len(QUESTIONS))})


@pytest.fixture(scope="module")
def scene() -> Scene:
    return set_scene(a_corpus(), EMBEDDER, 3, seed=0, per_question=2, min_words=10)


def test_irrelevant_documents_are_far_from_the_question_and_nobodys_gold(scene: Scene) -> None:
    gold = set().union(*(asked.gold for asked in scene.asked))
    assert len(scene.adversarial) == 6
    assert not scene.adversarial & gold
    vectors = EMBEDDER.embed(scene.texts)
    for asked in scene.asked:
        similarity = vectors @ asked.vector
        assert all(similarity[row] <= np.median(similarity) for row in asked.irrelevant)


def test_a_scene_is_cut_to_size_with_its_gold_documents() -> None:
    small = set_scene(a_corpus(), EMBEDDER, 3, seed=0, n_documents=20, per_question=1, min_words=5)
    assert len(small.texts) == 20
    assert all(asked.gold for asked in small.asked)
    with pytest.raises(DataError, match="too few for 9 irrelevant ones"):
        set_scene(a_corpus(), EMBEDDER, 3, seed=0, n_documents=20, per_question=9, min_words=5)


def test_the_question_in_front_is_found_undefended_and_outvoted(scene: Scene, tmp_path) -> None:
    clean = measure(scene, Undefended(scene.texts, EMBEDDER), 3)
    assert all(clean.found)
    assert not any(clean.poisoned)
    attacked = scene.with_texts(poison(scene, QueryCrafter(), 0, Quiet(), tmp_path))
    assert all(measure(attacked, Undefended(attacked.texts, EMBEDDER), 3).poisoned)
    voted = measure(attacked, Voting(attacked.texts, EMBEDDER, 5, 3), 1)
    assert all(voted.found)
    assert not any(voted.poisoned)


def test_masking_that_forgives_everything_is_undefended_retrieval(scene: Scene) -> None:
    masked = Masking.over(scene.texts, EMBEDDER, MaskConfig(segment=6, delta=2.0), 2.0)
    plain = Undefended(scene.texts, EMBEDDER)
    for asked in scene.asked:
        assert list(masked.retrieve(asked, 1)) == plain.retrieve(asked, 1)


def test_intersection_is_reproducible_and_shares_the_index(scene: Scene) -> None:
    voting = Voting(scene.texts, EMBEDDER, 4, 2, Aggregation.MAJORITY, seed=1)
    other = voting.with_aggregation(Aggregation.INTERSECTION)
    asked = scene.asked[0]
    assert list(other.retrieve(asked, 3)) == list(other.retrieve(asked, 3))
    assert len(voting.retrieve(asked, 3)) == 3


def test_a_stage_sees_the_best_and_its_survivors_count(scene: Scene) -> None:
    first = Undefended(scene.texts, EMBEDDER)
    nothing = Staged(first, scene.texts, AlwaysDropStage({}, Resources()), 2.0)
    assert nothing.retrieve(scene.asked[0], 3) == []
