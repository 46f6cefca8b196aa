"""The SCR tables on a small synthetic world: schema, published figures, and what must hold in them."""

from __future__ import annotations

import json
import math
from pathlib import Path

import pytest

from core.errors import ConfigError
from sim.progress import Quiet
from sim.reproduce import REPRODUCTIONS
from sim.reproduce.scr import certificate, table_1, table_2, table_3
from sim.reproduce.scr_published import TABLE_1, TABLE_2, TABLE_3
from sim.reproduce.table import ReproduceOptions
from tests.scripted_llm import ScriptedLLM
from tests.sim.tiny_world import write_world

SMALL = ReproduceOptions(documents=200, embedder="hashing", setting={"rounds": "4", "sources": "5"})


def measured(table, **key: str) -> float:
    (row,) = [r for r in table.rows if all(r.key[k] == v for k, v in key.items())]
    assert row.measured is not None
    return row.measured


def test_the_tables_are_registered() -> None:
    names = [name for name in REPRODUCTIONS.names() if name.startswith("scr-")]
    assert names == ["scr-1", "scr-2", "scr-3", "scr-certificate"]


def test_published_figures_are_those_the_paper_quotes() -> None:
    # the paper's claim of the lowest rate everywhere fails in these cells of nq and hotpotqa
    beaten = [
        key[::3] + key[2:3]
        for key, value in TABLE_1.items()
        if key[1] == "filterrag" and value < TABLE_1[(key[0], "scr", *key[2:])]
    ]
    assert sorted(beaten) == [
        ("hotpotqa", "LLaMA3-8B", "saa"),
        ("nq", "DeepSeek-V3", "saa"),
        ("nq", "LLaMA3-8B", "saa"),
    ]
    assert len(TABLE_1) == 2 * 5 * 3 * 3
    assert TABLE_2["ata", "without"] == (88.99, 80.45)
    assert TABLE_3["finance-alpaca", "ata"] == (0.793, 0.246)


def test_table_2_measures_both_sides_and_their_complements(monkeypatch) -> None:
    llm = ScriptedLLM()
    monkeypatch.setattr("sim.reproduce.scr.open_llm", lambda spec: llm)
    table = table_2(SMALL.model_copy(update={"setting": {**SMALL.setting, "low": "0", "high": "1"}}), Quiet())
    for attack in ("saa", "poisonedrag", "ata"):
        for audit in ("with", "without"):
            tpr, fnr = (measured(table, attack=attack, audit=audit, metric=m) for m in ("tpr", "fnr"))
            assert tpr + fnr == pytest.approx(100.0)
    assert len(llm.prompts) > 12  # every distinct document, once
    assert len(set(llm.prompts)) <= len(llm.prompts)
    assert any("asked about" in note for note in table.notes)


def test_table_3_reads_both_reliabilities_under_each_attack(tmp_path: Path) -> None:
    table = table_3(SMALL, Quiet())
    assert len(table.rows) == 3 * 2 * 2 * 2
    for attack in ("saa", "poisonedrag"):
        for kind in ("filter", "smoothed"):
            honest, lying = (
                measured(table, attack=attack, reliability=kind, sources=side, **{"published on": "medinote"})
                for side in ("benign", "malicious")
            )
            assert 0 <= lying < honest <= 1
    values = json.loads(table.write(tmp_path).read_text())
    assert {"key", "published", "measured", "unit"} <= values["rows"][0].keys()


def test_the_certificate_shows_bound_and_risk() -> None:
    table = certificate(SMALL, Quiet())
    for attack in ("saa", "poisonedrag", "ata"):
        margin = measured(table, attack=attack, quantity="margin")
        failure = measured(table, attack=attack, quantity="failure")
        bound = measured(table, attack=attack, quantity="bound of Theorem 1")
        assert bound == pytest.approx(failure + (1 - failure) * math.exp(-margin))
        assert 0 <= measured(table, attack=attack, quantity="measured risk") <= 1


def test_table_1_needs_a_data_set() -> None:
    with pytest.raises(ConfigError, match="needs --dataset"):
        table_1(ReproduceOptions(), Quiet())


@pytest.mark.slow
def test_table_1_compares_the_defenses_on_a_folder(tmp_path: Path) -> None:
    world = write_world(tmp_path / "world", n=60) if not (tmp_path / "world").mkdir() else None
    options = ReproduceOptions(
        dataset=str(world), embedder="hashing", queries=4, cache_dir=tmp_path / "cache",
        setting={"sources": "4", "malicious": "0.25", "replication": "1", "rival_queries": "0"},
    )  # fmt: skip
    table = table_1(options, Quiet())
    assert len(table.rows) == 3 * 5 * 3
    lone, many = (
        measured(table, attack="poisonedrag", defense=d, model="DeepSeek-V3") for d in ("ss_rag", "ms_rag")
    )
    assert 0 <= many <= lone <= 100
