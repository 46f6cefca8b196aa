"""HotFlip on a model that can be differentiated by hand: the mean of word vectors."""

from __future__ import annotations

import numpy as np
import pytest

from sim.attacks.flip import FlipConfig, Template, flip

SIZE, DIMENSION = 40, 6


class MeanModel:
    """Similarity = mean word vector · question; the gradient at every slot is the question / length."""

    max_tokens = 50

    def __init__(self, seed: int = 0) -> None:
        rng = np.random.default_rng(seed)
        self.embeddings = rng.standard_normal((SIZE, DIMENSION)).astype(np.float32)
        self.words = np.ones(SIZE, dtype=bool)
        self.words[:10] = False
        self.passes = 0

    def scores(self, rows, query):
        self.passes += len(rows)
        return np.array([self.embeddings[list(row)].mean(axis=0) @ query for row in rows], np.float32)

    def gradient(self, ids, query):
        return float(self.scores([ids], query)[0]), np.tile(query / len(ids), (len(ids), 1))


QUERY = np.array([1, 0, 0, 0, 0, 0], np.float32)


@pytest.mark.parametrize("candidates", [3, 12])
def test_it_finds_the_best_word_for_every_slot(candidates: int) -> None:
    model = MeanModel()
    best = int(np.argmax(np.where(model.words, model.embeddings @ QUERY, -np.inf)))
    found = flip(
        model,
        Template((0, 1, 2, 3, 4, 5), (1, 2, 4)),
        QUERY,
        FlipConfig(iterations=20, candidates=candidates),
        np.random.default_rng(0),
    )
    assert found.ids == (0, best, best, 3, best, 5)
    assert found.score == pytest.approx(float(model.scores([found.ids], QUERY)[0]))


def test_it_stops_where_it_is_good_enough_and_changes_slots_only() -> None:
    model = MeanModel()
    template = Template((0, 1, 2), (1,))
    start = float(model.scores([template.ids], QUERY)[0])
    done = flip(model, template, QUERY, FlipConfig(stop_at=max(0.001, start)), np.random.default_rng(0))
    if start >= 0.001:
        assert done.ids == template.ids
    far = flip(model, template, QUERY, FlipConfig(), np.random.default_rng(0))
    assert (far.ids[0], far.ids[2]) == (0, 2)
    assert model.words[far.ids[1]]


def test_same_seed_same_poison_and_passes_are_counted() -> None:
    runs = []
    for _ in range(2):
        model = MeanModel()
        found = flip(
            model,
            Template(tuple(range(30)), tuple(range(20))),
            QUERY,
            FlipConfig(iterations=4, candidates=5),
            np.random.default_rng(3),
        )
        runs.append(found)
        assert found.passes >= 4 * 4
    assert runs[0] == runs[1]


def test_no_slot_within_reach_changes_nothing() -> None:
    model = MeanModel()
    template = Template(tuple([0] * 60), (55,))
    assert flip(model, template, QUERY, FlipConfig(), np.random.default_rng(0)).ids == template.ids
