"""The RAGPart tables on a small world: rows, published figures, what is named as different."""

from __future__ import annotations

from pathlib import Path

import pytest

from core.errors import ConfigError
from sim.progress import Quiet
from sim.reproduce import REPRODUCTIONS
from sim.reproduce.ragpart_lab import Lab
from sim.reproduce.ragpart_published import DEFENSES
from sim.reproduce.ragpart_writer import training_documents
from sim.reproduce.table import ReproduceOptions, Table
from tests.sim.tiny_world import write_world

SETTING = {"min_words": "5", "samples": "2", "alpha": "2"}


@pytest.fixture(scope="module")
def world(tmp_path_factory: pytest.TempPathFactory) -> str:
    return str(write_world(tmp_path_factory.mktemp("data") / "world", 40))


def options(world: str, cache: Path, **setting: str) -> ReproduceOptions:
    return ReproduceOptions(
        dataset=world, embedder="hashing", queries=4, cache_dir=cache, setting={**SETTING, **setting}
    )


def made(number: int, chosen: ReproduceOptions) -> Table:
    return REPRODUCTIONS.get(f"ragpart-{number}")(chosen, Quiet())


def test_table_7_sets_published_beside_measured(world: str, tmp_path: Path) -> None:
    table = made(7, options(world, tmp_path))
    assert [row.key["defense"] for row in table.rows] == list(DEFENSES)
    assert [row.published for row in table.rows] == [78.0, 55.0, 54.0, 69.0]
    assert table.rows[0].measured == 100.0
    assert all(row.measured is not None and row.ci95 is not None for row in table.rows)
    assert table.settings["questions"] == 4
    assert any("Published: contriever on NQ" in note for note in table.notes)
    assert any("Table 13 gives" in note for note in table.notes)


def test_the_baselines_are_measured_where_asked_for(
    world: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from tests.scripted_llm import ScriptedLLM

    monkeypatch.setattr("sim.reproduce.ragpart_lab.open_llm", lambda name, cache_dir: ScriptedLLM())
    table = made(7, options(world, tmp_path, baselines="true"))
    assert [row.key["defense"] for row in table.rows] == [*DEFENSES, "perplexity", "paraphrase"]
    assert [row.published for row in table.rows[-2:]] == [None, None]
    assert all(row.measured == 100.0 for row in table.rows[-2:])


@pytest.mark.parametrize(
    ("number", "cells"), [pytest.param(10, 19, marks=pytest.mark.slow), (12, 21), (14, 3), (16, 3)]
)
def test_the_other_tables_have_a_row_for_every_cell(
    number: int, cells: int, world: str, tmp_path: Path
) -> None:
    setting = {"fragments": "3"} if number in (14, 16) else {}
    table = made(number, options(world, tmp_path, **setting))
    assert len(table.rows) == cells
    assert table.rows[0].key["defense"] == "none"
    assert all(row.published is not None and row.measured is not None for row in table.rows)


def test_masking_that_forgives_everything_is_no_defense(world: str, tmp_path: Path) -> None:
    table = made(12, options(world, tmp_path))
    bare = table.rows[0].measured
    assert all(row.measured == bare for row in table.rows if row.key.get("delta") == 0.5)


def test_poisons_are_remembered(world: str, tmp_path: Path) -> None:
    lab = Lab("ragpart-10", options(world, tmp_path), Quiet(), questions=4)
    first = lab.attacked("query_as_poison")
    files = sorted((tmp_path / "poisons").iterdir())
    assert len(files) == len(lab.clean.adversarial) == 12
    assert lab.attacked("query_as_poison") == first
    assert sorted((tmp_path / "poisons").iterdir()) == files


def test_a_writer_trains_on_what_is_not_measured(world: str, tmp_path: Path) -> None:
    lab = Lab("ragpart-10", options(world, tmp_path), Quiet(), questions=4)
    told = training_documents(lab.load(), lab.clean, 5, seed=0)
    assert len(told) == 5
    asked = {asked.text for asked in lab.clean.asked}
    touched = {lab.clean.texts[row] for row in lab.clean.adversarial}
    assert not asked & {question for question, _ in told}
    assert not touched & {document for _, document in told}


@pytest.mark.parametrize(
    ("number", "change", "words"),
    [
        (7, {"dataset": None}, "ragpart-7 is measured on data: give --dataset"),
        (7, {"setting": {"masks": "3"}}, "ragpart-7 --set: unknown key 'masks'"),
        (8, {}, "HotFlip needs gradients"),
        (10, {"llm": "openai:x", "setting": {**SETTING, "train": "1"}}, "train needs a local causal model"),
    ],
)
def test_mistakes_are_named(number: int, change: dict, words: str, world: str, tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match=words):
        made(number, options(world, tmp_path).model_copy(update=change))
