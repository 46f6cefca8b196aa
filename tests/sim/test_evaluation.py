from __future__ import annotations

import numpy as np
import pytest

from core.embedding.cache import CachedEmbedder
from core.embedding.hashing import HashingEmbedder
from sim.attacks.base import AttackOptions
from sim.corpora import load_corpus
from sim.corpora.records import select_questions
from sim.evaluation import SETTLED, SINGLE, Cell, _figures, _Tally, cells, evaluate_cell, rounds_to_find
from sim.rounds import PreparedCorpus, prepare
from sim.training_rounds import BENIGN, MALICIOUS
from tests.gnn.parts import make_checkpoint
from tests.sim.tiny_world import write_world

EMBEDDER = CachedEmbedder(HashingEmbedder(256))
MODELS = ("channels", "agreement", "truth-discovery")


@pytest.fixture(scope="module")
def world(tmp_path_factory: pytest.TempPathFactory) -> PreparedCorpus:
    return prepare(load_corpus(str(write_world(tmp_path_factory.mktemp("world"), n=60))), EMBEDDER)


def judged(world: PreparedCorpus, cell: Cell, n_rounds: int = 3, models=MODELS, **more):
    questions = select_questions(world.corpus)
    return evaluate_cell(
        make_checkpoint(), models, world, questions, cell, EMBEDDER, n_rounds=n_rounds, n_sources=5, **more
    )


def test_the_matrix() -> None:
    plain, whole = cells(False), cells(True, (1, 3))
    assert {(c.attack, c.control) for c in plain} == {
        ("none", "clean"), ("saa", "plain"), ("poisonedrag", "plain"), ("ata", "plain"),
    }  # fmt: skip
    assert {c.control for c in whole} >= {
        "clean", "plain", "length-matched", "no-prefix", "camouflage", "swap", "reworded", "one-in-five",
    }  # fmt: skip
    assert len(set((c.attack, c.control, c.replication) for c in whole)) == len(whole)
    assert all(c.warmup == 25 for c in whole if c.control == "camouflage")
    assert not [c for c in whole if c.replication == 1 and c.options.reword]


def test_rows_of_an_attacked_cell(world: PreparedCorpus) -> None:
    rows = judged(world, Cell("saa", "plain", 3))
    assert [row["model"] for row in rows] == list(MODELS)
    for row in rows:
        assert {"dataset", "attack", "control", "replication", "model", "n_rounds", "tpr", "tnr", "auroc", "ece"} <= set(row)  # fmt: skip
        assert row["n_rounds"] == 3
        for name in ("tpr", "tnr", "auroc", "ece"):
            assert 0.0 <= row[name] <= 1.0
        low, high = row["tnr_ci95"]
        assert low <= row["tnr"] <= high
    echo = rows[0]
    assert echo["tnr"] == 1.0  # the hand-made content channel drops what repeats the question


def test_a_clean_cell_has_no_value_for_what_is_malicious(world: PreparedCorpus) -> None:
    (row,) = judged(world, Cell("none", "clean", 1), models=("channels",))
    assert row["tpr"] is not None
    assert row["tnr"] is row["tnr_ci95"] is row["auroc"] is row["reliability_malicious"] is None


def test_settled_rows_count_from_the_eleventh_round_on(world: PreparedCorpus) -> None:
    rows = judged(world, Cell("ata", "plain", 3), n_rounds=SETTLED + 2, models=("agreement",))
    assert [(row["beliefs"], row["n_rounds"]) for row in rows] == [("carried", SETTLED + 2), ("settled", 2)]
    (fresh,) = judged(
        world, Cell("ata", "plain", 3), n_rounds=SETTLED + 2, models=("agreement",), single=True
    )
    assert (fresh["beliefs"], fresh["n_rounds"]) == ("single", SETTLED + 2)


def test_single_rounds_are_of_federations_that_are_resampled_whole(world: PreparedCorpus) -> None:
    """In one federation half of the sound documents are kept, in the other all of them."""
    labels = np.array([BENIGN, BENIGN, MALICIOUS], np.int8)
    half, whole = np.array([0.9, 0.2, 0.3]), np.array([0.9, 0.8, 0.3])

    def figures(units: list[tuple[int, int]]):
        return _figures(
            _Tally([half] * 5 + [whole] * 5, [labels] * 10, [*range(5)] * 2, units, [(0.9, 0.1)] * 10), 0
        )

    federations = figures([(0, 0)] * 5 + [(1, 0)] * 5)
    rounds = figures([(i // 5, i) for i in range(10)])
    assert federations["tpr"] == rounds["tpr"] == 0.75
    assert federations["tpr_ci95"] == pytest.approx([0.5, 1.0])
    assert 0.5 < rounds["tpr_ci95"][0] < 0.75 < rounds["tpr_ci95"][1] < 1.0
    assert federations["auroc_ci95"][0] < rounds["auroc_ci95"][0]
    one = figures([(0, 0)] * 10)
    assert one["tpr"] == 0.75
    assert one["tpr_ci95"] is one["tnr_ci95"] is one["auroc_ci95"] is None
    (row,) = judged(world, Cell("ata", "plain", 3), n_rounds=SINGLE, models=("agreement",), single=True)
    assert row["tpr"] is not None
    assert row["tpr_ci95"] is None


def test_warm_up_rounds_are_not_counted(world: PreparedCorpus) -> None:
    cell = Cell("poisonedrag", "camouflage", 1, AttackOptions(per_source=1), warmup=4)
    (row,) = judged(world, cell, n_rounds=2, models=("channels",))
    assert row["n_rounds"] == 2


def test_equal_seeds_give_equal_rows(world: PreparedCorpus) -> None:
    cell = Cell("ata", "swap", 3, AttackOptions(swap=True))
    assert judged(world, cell) == judged(world, cell)
    assert judged(world, cell) != judged(world, cell, seed=1)


def test_figures_by_hand() -> None:
    tally = _Tally(
        credibility=[np.array([0.9, 0.4, 0.2]), np.array([0.8, 0.7, 0.9])],
        labels=[np.array([1, 1, 0], np.int8), np.array([1, 0, -1], np.int8)],
        round_=[0, 1],
        unit=[(0, 0), (0, 1)],
        reliability=[(0.6, 0.5), (0.9, 0.1)],
    )
    found = _figures(tally, 0)
    assert found["tpr"] == pytest.approx(2 / 3)
    assert found["tnr"] == pytest.approx(1 / 2)
    # benign .9 .4 .8 against malicious .2 .7: five of six pairs in order
    assert found["auroc"] == pytest.approx(5 / 6)
    assert found["auroc_ci95"][0] <= 5 / 6 <= found["auroc_ci95"][1]
    assert (found["reliability_benign"], found["reliability_malicious"]) == (0.9, 0.1)
    assert _figures(tally, 0, first=1)["tpr"] == 1.0


def test_how_long_a_sleeper_goes_unnoticed() -> None:
    labels = np.array([BENIGN, MALICIOUS, MALICIOUS], np.int8)
    blind, half, found = np.array([0.9, 0.9, 0.9]), np.array([0.9, 0.1, 0.9]), np.array([0.9, 0.1, 0.1])
    tally = _Tally()
    for _ in range(2):  # two episodes: one honest round, then three attacked ones
        for r, credibility in enumerate([blind, half, found, blind]):
            tally.round_.append(r)
            tally.attacked.append(r > 0)
            tally.labels.append(labels if r else np.full(3, BENIGN, np.int8))
            tally.credibility.append(credibility)
    assert rounds_to_find(tally) == 2
    tally.credibility[2] = half
    assert rounds_to_find(tally) is None


def test_a_sleepers_rows_say_when_it_was_found(world: PreparedCorpus, monkeypatch) -> None:
    monkeypatch.setattr("sim.evaluation.SLEEP", 2)
    monkeypatch.setattr("sim.evaluation.AWAKE", 2)
    (row,) = judged(world, Cell("saa", "sleeper", 3, behavior="sleeper:2"), models=("channels",))
    assert row["n_rounds"] == 20
    assert row["rounds_to_find"] == 1  # the hand-made content channel needs no second look
