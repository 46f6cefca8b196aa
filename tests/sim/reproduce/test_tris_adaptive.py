from __future__ import annotations

from sim.progress import Quiet
from sim.reproduce import tris_adaptive
from sim.reproduce.table import ReproduceOptions
from sim.reproduce.tris_adaptive import LEVELS, table_adaptive
from tests.sim.tiny_world import write_world


def test_every_level_of_each_defense_is_a_known_attack():
    from sim.attacks import ATTACKS

    for levels in LEVELS.values():
        assert list(levels) == ["L0", "L1", "L2", "L3"]
        for attack in levels.values():
            assert ATTACKS.get(attack).kind == "inject"


def test_what_each_level_regains_is_shown_with_and_without_the_defense(tmp_path, monkeypatch):
    monkeypatch.setattr(tris_adaptive, "LEVELS", {"tris": {"L0": "poisonedrag", "L1": "tris_l1"}})
    world = str(write_world(tmp_path / "tiny", n=40))
    options = ReproduceOptions(
        dataset=world,
        embedder="hashing",
        queries=3,
        setting={"sources": 5, "top_k": 4},
        cache_dir=tmp_path / "c",
    )
    table = table_adaptive(options, Quiet())
    found = {(r.key["level"], r.key["defense"], r.key["metric"]): r.measured for r in table.rows}
    assert found["L0 (poisonedrag)", "tris", "tnr"] == 100.0
    assert found["L0 (poisonedrag)", "none", "asr"] >= found["L0 (poisonedrag)", "tris", "asr"]
    assert ("L1 (tris_l1)", "tris", "asr") in found
    assert ("floor", "none", "target") in found
    assert table.notes[0].startswith("tiny, tris: L0")
    assert "points" in table.notes[0]
