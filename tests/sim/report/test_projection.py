from __future__ import annotations

import numpy as np

from core.embedding.hashing import HashingEmbedder
from sim.report import projection
from sim.report.load import load_run
from sim.report.projection import project
from tests.sim.report.runs_made import write_run


def test_every_text_has_its_place_and_seeds_repeat_it(tmp_path):
    run = load_run(write_run(tmp_path, n=4))
    found = project(run.rounds, run.texts, HashingEmbedder(), 1)
    assert {len(column) for column in found.values()} == {4 * 5 * 3}
    assert np.isfinite([found["x"], found["y"]]).all()
    assert set(found["label"]) == {"benign", "malicious"}
    assert found == project(run.rounds, run.texts, HashingEmbedder(), 1)


def test_big_runs_are_sampled_and_tiny_ones_left_out(tmp_path, monkeypatch):
    monkeypatch.setattr(projection, "MOST", 20)
    run = load_run(write_run(tmp_path / "a", n=4))
    seen = []

    class Counting(HashingEmbedder):
        def embed(self, texts):
            seen.extend(texts)
            return super().embed(texts)

    assert len(project(run.rounds, run.texts, Counting(), 1)["x"]) == 20
    assert len(seen) == 20
    few = dict(list(run.texts.items())[:3])
    assert project(run.rounds, few, HashingEmbedder(), 1) is None
