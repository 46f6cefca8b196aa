from __future__ import annotations

import pytest

from core.errors import ConfigError, DataError, StageError
from core.stage import Resources
from defenses.filterrag import FilterRagStage
from defenses.tris.stage import TrisStage
from sim.corpora.records import Question
from sim.progress import Quiet
from sim.reproduce import REPRODUCTIONS
from sim.reproduce.table import ReproduceOptions
from sim.reproduce.tris import GATE, LAYERS, _seen, table_1, table_4, table_8, table_10
from sim.reproduce.tris_lab import Lab, rate, removed
from sim.reproduce.tris_pool import POISON, Asked, craft
from tests.scripted_llm import ScriptedLLM
from tests.sim.tiny_world import write_world


@pytest.fixture(scope="module")
def world(tmp_path_factory):
    return str(write_world(tmp_path_factory.mktemp("tris") / "tiny", n=60))


def options(world, queries=4, **setting):
    given = {"k": 20, "verified": 1, **setting}
    return ReproduceOptions(dataset=world, embedder="hashing", queries=queries, setting=given)


def cells(table):
    return {tuple(row.key.values()): row.measured for row in table.rows}


def test_the_tables_are_registered():
    for name in ("tris-1", "tris-4", "tris-8", "tris-10", "tris-adaptive"):
        assert callable(REPRODUCTIONS.get(name))


def test_poisons_compete_with_the_corpus_and_k_bounds_the_candidates(world):
    lab = Lab("tris-1", options(world), Quiet(), 4)
    (tiny,) = lab.worlds
    asked = lab.craft(tiny, "poisonedrag")[0]
    pool = lab.pool(tiny)
    clean, attacked = pool.candidates(asked, False), pool.candidates(asked, True)
    assert len(clean.documents) == len(attacked.documents) == 20
    assert sum(d.key.source_id == POISON for d in attacked.documents) == 5
    similarities = [d.similarity for d in attacked.documents]
    assert similarities == sorted(similarities, reverse=True)
    assert [d.rank for d in attacked.documents] == list(range(1, 21))
    for given in (clean, attacked):
        own = lab.embedder.embed([given.documents[3].text])[0]
        titled = f"{given.documents[3].title}. {given.documents[3].text}"
        near = max(float(given.vectors[3] @ own), float(given.vectors[3] @ lab.embedder.embed([titled])[0]))
        assert near == pytest.approx(1.0, abs=1e-5)


def test_more_poisons_than_a_record_has_are_made_and_all_differ(world):
    lab = Lab("tris-8", options(world), Quiet(), 4)
    (tiny,) = lab.worlds
    for asked in craft(tiny.prepared, tiny.questions, "poisonedrag", 12, 0):
        assert len(asked.texts) == len(set(asked.texts)) > 5
        assert all(text.startswith(asked.question.text) for text in asked.texts)


def test_a_round_without_defense_keeps_all_and_tris_rejects_the_question_in_front(world):
    lab = Lab("tris-1", options(world), Quiet(), 4)
    (tiny,) = lab.worlds
    asked, pool = lab.craft(tiny, "poisonedrag"), lab.pool(tiny)
    plain = lab.measure("plain", pool, asked, None, poisoned=True)
    kept = lab.measure("tris", pool, asked, lab.tris(geometry=False), poisoned=True)
    assert [r.poisons_kept for r in plain] == [5] * 4
    assert [r.poisons_kept for r in kept] == [0] * 4
    assert rate(kept, "tnr") == 100.0
    assert rate(plain, "tpr") == 100.0
    clean = lab.measure("clean", pool, asked, None, poisoned=False)
    assert all(r.outcome.attack_success is None and r.poisons == 0 for r in clean)


def test_a_defense_that_breaks_down_is_not_measured_and_failed_calls_are_told(world):
    class Broken(TrisStage):
        def run(self, given):
            raise RuntimeError("no vectors today")

    lab = Lab("tris-1", options(world), Quiet(), 4)
    (tiny,) = lab.worlds
    asked, pool = lab.craft(tiny, "poisonedrag")[:1], lab.pool(tiny)
    with pytest.raises(StageError, match="no vectors today"):
        lab.measure("broken", pool, asked, Broken({}, Resources()), poisoned=True)
    silent = FilterRagStage({"word_cosine": 1}, Resources(llm=ScriptedLLM(fail=True)))
    (found,) = lab.measure("silent", pool, asked, silent, poisoned=True)
    assert (found.llm_failures, found.poisons_kept) == (20, 5)
    assert "20 calls of the model failed in a stage" in " ".join(lab.finish([], ()).notes)


def test_what_is_removed_is_counted_over_the_floor():
    assert removed(80.0, 20.0, 0.0) == 75.0
    assert removed(80.0, 20.0, 20.0) == 100.0
    assert removed(20.0, 20.0, 20.0) is None


def test_table_1_says_whether_the_gate_is_met(world):
    table = table_1(options(world, queries=1, k=12), Quiet())
    found = cells(table)
    assert found["tiny", "none", "asr"] > found["tiny", "tris", "asr"]
    assert ("tiny", "tris", "removed") in found
    assert f"{GATE:.0f} % asked for" in table.notes[0]
    assert any("differ" in note or "Measured" in note for note in table.notes)


def test_a_question_longer_than_the_prefix_hides_its_own_copy():
    words = " ".join(f"word{i}" for i in range(30))
    for text, seen in ((words, False), (" ".join(words.split()[:10]), True)):
        asked = Asked(Question("q", f"{text}?", ("yes",)), "no", (f"{text}? It is no.",))
        assert _seen(asked) is seen


def test_table_8_and_10_cover_their_grids(world):
    eight = cells(table_8(options(world, queries=1), Quiet()))
    assert {key[2] for key in eight} == {1, 2, 3, 4, 5, 6, 10, 20}
    ten = table_10(options(world, queries=1), Quiet())
    assert {(row.key["k"], row.key["clusters"]) for row in ten.rows} >= {(5, "C=2"), (50, "none")}


def test_layers_are_told_apart_and_only_those_with_a_verifier_need_a_model(world, monkeypatch):
    monkeypatch.setattr("sim.reproduce.tris.LAYERS", {k: v for k, v in LAYERS.items() if "L3" not in k})
    table = table_4(options(world, queries=2), Quiet())
    assert {row.key["layers"] for row in table.rows} == {"none", "L1", "L2", "L1+L2"}
    assert {name for name, layers in LAYERS.items() if layers.get("verifier")} == {
        name for name in LAYERS if "L3" in name
    }


def test_data_is_asked_for(tmp_path):
    with pytest.raises(ConfigError, match="--dataset PATH"):
        Lab("tris-1", ReproduceOptions(), Quiet(), 4)
    with pytest.raises(DataError, match="nq or hotpotqa"):
        Lab("tris-1", ReproduceOptions(dataset=str(tmp_path)), Quiet(), 4)
    with pytest.raises(ConfigError, match="colour"):
        Lab("tris-1", ReproduceOptions(dataset=str(tmp_path), setting={"colour": 1}), Quiet(), 4)
    plain = write_world(tmp_path / "plain", n=20, poisons=False)
    with pytest.raises(DataError, match="poison record"):
        _ = Lab("tris-1", options(str(plain)), Quiet(), 4).worlds
