"""A tiny training through the command: reproducible, resumable, judged and calibrated."""

from __future__ import annotations

import json
import time
from pathlib import Path

import pytest

from core.cli import main
from gnn.checkpoint import load_checkpoint
from gnn.scorer import SCHEMAS
from sim.training import Trainer
from tests.sim.tiny_world import write_world

TINY = """
documents: 90
pair_questions: 8
episodes: 8
validation_episodes: 8
rounds: 1
hidden: 8
heads: 2
epochs: 2
paper_epochs: 1
"""


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Settings, a data folder and a cache that all tests of this file share."""
    root = tmp_path_factory.mktemp("train")
    (root / "tiny.yaml").write_text(TINY)
    write_world(root / "world", n=60)
    return root


def train(folder: Path, out: str, *flags: str) -> int:
    return main(
        ["train", "--dataset", "synthetic", "--embedder", "hashing", "--config", str(folder / "tiny.yaml"),
         "--cache-dir", str(folder / "cache"), "--out", str(folder / out), *flags]
    )  # fmt: skip


@pytest.fixture(scope="module")
def trained(folder: Path) -> Path:
    start = time.process_time()
    assert train(folder, "first", "--quiet") == 0
    assert time.process_time() - start < 60
    return folder / "first" / "checkpoint.npz"


def test_the_checkpoint_fits_this_version_and_has_a_card(trained: Path) -> None:
    checkpoint = load_checkpoint(trained, SCHEMAS)
    card = json.loads((trained.parent / "model_card.json").read_text())
    assert card["training"]["seed"] == 0
    assert card["training"]["data"] == checkpoint.meta["training"]["data"]
    assert card["embedder"].startswith("hashing/")
    assert set(card["training"]["figures"]) == {"validation_tpr", "validation_tnr", "validation_ece"}
    assert card["seconds"] > 0


def test_interrupted_and_repeated_it_ends_with_the_same_bytes(
    folder: Path, trained: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def interrupt(self: Trainer) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(Trainer, "content", interrupt)
    assert train(folder, "second") == 130
    monkeypatch.undo()
    assert not (folder / "second" / "checkpoint.npz").exists()
    capsys.readouterr()
    assert train(folder, "second") == 0
    assert "relations: taken from" in capsys.readouterr().err
    assert (folder / "second" / "checkpoint.npz").read_bytes() == trained.read_bytes()


def test_steps_of_other_settings_are_not_taken(folder: Path, trained: Path) -> None:
    before = (folder / "first" / "relations.npz").read_bytes()
    assert train(folder, "first", "--seed", "1", "--no-baselines", "--quiet") == 0
    assert (folder / "first" / "relations.npz").read_bytes() != before
    assert "paper" not in load_checkpoint(trained).meta
    assert train(folder, "first", "--quiet") == 0  # back to what the other tests read


def test_eval_writes_the_matrix(folder: Path, trained: Path, capsys: pytest.CaptureFixture[str]) -> None:
    status = main(
        ["eval", "--checkpoint", str(trained), "--dataset", str(folder / "world"), "--embedder", "hashing",
         "--cache-dir", str(folder / "cache"), "--rounds", "2", "--model", "default", "--model", "paper",
         "--model", "boosted-trees", "--attack", "saa", "--attack", "ata", "--replication", "3", "--quiet",
         "--out", str(folder / "eval")]
    )  # fmt: skip
    assert status == 0
    found = json.loads((folder / "eval" / "eval.json").read_text())
    assert found["schema"] == 1
    assert {(r["attack"], r["model"], r["beliefs"]) for r in found["rows"]} == {
        (attack, model, beliefs)
        for attack, beliefs in (("saa", "carried"), ("ata", "carried"), ("ata", "single"))
        for model in ("default", "paper", "boosted-trees")
    }
    assert all(
        {"dataset", "control", "replication", "n_rounds", "tpr", "tnr", "auroc", "ece"} <= set(r)
        for r in found["rows"]
    )
    assert "boosted-trees" in capsys.readouterr().out


def test_the_model_card_takes_the_rows_of_an_evaluation(
    folder: Path, trained: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    card = folder / "card.json"
    card.write_text((trained.parent / "model_card.json").read_text())

    def judge(seed: str, path: Path) -> int:
        return main(
            ["eval", "--checkpoint", str(trained), "--dataset", "synthetic", "--documents", "60", "--embedder",
             "hashing", "--cache-dir", str(folder / "cache"), "--rounds", "2", "--model", "default", "--attack",
             "saa", "--replication", "1", "--quiet", "--card", str(path), "--seed", seed, "--out",
             str(folder / "eval2")]
        )  # fmt: skip

    assert judge("0", card) == judge("3", card) == 0
    held = json.loads(card.read_text())
    assert held["training"] == json.loads((trained.parent / "model_card.json").read_text())["training"]
    assert [(row["dataset"], row["attack"], row["seed"]) for row in held["matrix"]] == [
        ("synthetic-60-s0", "saa", 0), ("synthetic-60-s3", "saa", 3)
    ]  # fmt: skip
    broken = folder / "broken.json"
    broken.write_text("[1, 2")
    assert judge("0", broken) != 0
    assert "broken.json: no model card" in capsys.readouterr().err
    assert broken.read_text() == "[1, 2"


def test_calibrate_moves_only_the_threshold(folder: Path, trained: Path) -> None:
    status = main(
        ["calibrate", "--checkpoint", str(trained), "--dataset", str(folder / "world"), "--embedder",
         "hashing", "--cache-dir", str(folder / "cache"), "--rounds", "6", "--sources", "5",
         "--out", str(folder / "ours.npz")]
    )  # fmt: skip
    assert status == 0
    before, after = load_checkpoint(trained, SCHEMAS), load_checkpoint(folder / "ours.npz", SCHEMAS)
    assert after.meta["threshold"] != before.meta["threshold"]
    assert after.meta["calibrated"]["clean_cost"] == 0.01
    assert after.meta["network"] == before.meta["network"]
    assert all((after.arrays[name] == before.arrays[name]).all() for name in before.arrays)


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["train", "--out", "{}/x", "--config", "{}/wrong.yaml"], "unknown key 'epoch'"),
        (["train", "--out", "{}/x", "--dataset", "{}/nowhere", "--embedder", "hashing"], "nowhere"),
        (["eval", "--out", "{}/x", "--checkpoint", "{}/none.npz"], "none.npz"),
        (["calibrate", "--dataset", "synthetic", "--out", "{}/x", "--clean-cost", "0.7"], "clean-cost"),
    ],
)
def test_what_is_wrong_is_said_in_one_line(
    folder: Path, arguments: list[str], said: str, capsys: pytest.CaptureFixture[str]
) -> None:
    (folder / "wrong.yaml").write_text("epoch: 3\n")
    assert main([argument.format(folder) for argument in arguments]) == 2
    error = capsys.readouterr().err
    assert said in error
    assert error.count("\n") == 1
