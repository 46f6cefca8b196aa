"""A whole training at its smallest: resumable, reproducible, and its ablation."""

from __future__ import annotations

import numpy as np
import pytest

from core.embedding.cache import CachedEmbedder
from core.embedding.hashing import HashingEmbedder
from gnn.models import MODELS, open_model
from sim.ablation import DEFAULT_VARIANTS, PAPER_VARIANTS, _figures, ablate, as_json, lines
from sim.corpora import load_corpus
from sim.training import Trainer, TrainingConfig

TINY = TrainingConfig(
    documents=120, pair_questions=6, episodes=8, validation_episodes=8, rounds=1, epochs=1, paper_epochs=1,
    hidden=8, heads=2,
)  # fmt: skip


@pytest.fixture(scope="module")
def embedder() -> CachedEmbedder:
    return CachedEmbedder(HashingEmbedder(64))


@pytest.fixture(scope="module")
def corpora():
    return [load_corpus("synthetic", n_documents=120, seed=3)]


@pytest.fixture(scope="module")
def trained(corpora, embedder, tmp_path_factory):
    out = tmp_path_factory.mktemp("train")
    return Trainer(corpora, embedder, TINY, out).run(), out


def test_the_checkpoint_opens_every_model_and_names_its_data(trained):
    checkpoint = trained[0].checkpoint
    for name in MODELS:
        assert open_model(name, checkpoint) is not None
    assert checkpoint.meta["training"]["data"] == ["synthetic-120-s3"]
    assert checkpoint.meta["training"]["config"] == TINY.model_dump()
    assert 0 <= trained[0].figures["validation_tpr"] <= 1


def test_again_it_takes_its_steps_from_the_folder_and_ends_the_same(trained, corpora, embedder):
    first, out = trained
    told: list[str] = []
    second = Trainer(corpora, embedder, TINY, out, told.append).run()
    assert sum("taken from" in line for line in told) == 2
    fresh = Trainer(corpora, embedder, TINY).run()
    for other in (second, fresh):
        assert other.checkpoint.arrays.keys() == first.checkpoint.arrays.keys()
        for name, array in first.checkpoint.arrays.items():
            np.testing.assert_array_equal(other.checkpoint.arrays[name], array, err_msg=name)


def test_it_is_calibrated_with_carried_beliefs_and_without_any(corpora, embedder):
    """One round an episode has nothing to carry, so there is nothing to judge without it."""
    config = TINY.model_copy(update={"baselines": False})
    once = Trainer(corpora, embedder, config).run().figures
    twice = Trainer(corpora, embedder, config.model_copy(update={"rounds": 2})).run().figures
    assert set(once) == {f"validation_{name}" for name in ("tpr", "tnr", "ece")}
    assert set(twice) == set(once) | {f"validation_single_{name}" for name in ("tpr", "tnr", "ece")}
    assert all(0 <= value <= 1 for value in twice.values())


def test_other_settings_do_not_take_its_steps(trained, corpora, embedder):
    told: list[str] = []
    Trainer(corpora, embedder, TINY.model_copy(update={"seed": 9}), trained[1], told.append).relations()
    assert not any("taken from" in line for line in told)


@pytest.mark.slow
def test_an_ablation_has_a_row_for_every_variant(trained, corpora, embedder):
    told: list[str] = []
    rows = ablate(Trainer(corpora, embedder, TINY, trained[1]), seeds=1, report=told.append)
    names = ["channels alone", *DEFAULT_VARIANTS, *PAPER_VARIANTS]
    assert [row.variant for row in rows] == names
    assert len(told) == len(names) - 1
    assert all(0 <= row.tpr <= 1 and 0 <= row.tnr <= 1 and row.auroc_spread == 0 for row in rows)
    assert len(lines(rows)) == len(rows) + 1
    assert as_json(rows)[0]["variant"] == "channels alone"


def test_figures_by_hand():
    logits = [np.array([2.0, -1.0]), np.array([1.0, -2.0, 0.5])]
    labels = [np.array([1, 0], np.int8), np.array([0, 1, -1], np.int8)]
    # sound: 2 and -2, malicious: -1 and 1
    assert _figures(logits, labels) == (0.5, 0.5, 0.5)
