"""The ADO tables on a small synthetic world: schema, published figures, and the policies' order."""

from __future__ import annotations

import json
import math
from pathlib import Path

import pytest

from core.embedding.cache import CachedEmbedder
from core.embedding.hashing import HashingEmbedder
from core.errors import ConfigError, DataError
from sim.corpora import load_corpus
from sim.progress import Quiet
from sim.reproduce import REPRODUCTIONS
from sim.reproduce.ado import table_4, table_5, table_8
from sim.reproduce.ado_published import TABLE_6, TABLE_8
from sim.reproduce.ado_stream import attacked_requests, make_stream
from sim.reproduce.ado_world import Sizes, cut, mix, open_worlds
from sim.reproduce.table import ReproduceOptions

SMALL = ReproduceOptions(queries=8, documents=200, embedder="hashing")


def measured(table, **key: str) -> float:
    (row,) = [r for r in table.rows if all(r.key[k] == v for k, v in key.items())]
    assert row.measured is not None
    return row.measured


def test_the_tables_are_registered() -> None:
    assert [name for name in REPRODUCTIONS.names() if name.startswith("ado-")] == [
        f"ado-{n}" for n in (4, 5, 6, 7, 8)
    ]


def test_published_figures_are_those_the_paper_quotes() -> None:
    drops = {
        dataset: 1
        - TABLE_8[dataset, "all"]["contextual_recall"] / TABLE_8[dataset, "none"]["contextual_recall"]
        for dataset in ("nq", "triviaqa", "pubmedqa")
    }
    assert [round(100 * drop, 1) for drop in drops.values()] == [41.0, 41.6, 46.4]
    members = [TABLE_6[dataset, "dp"][0] for dataset in ("triviaqa", "pubmedqa")]
    assert sum(members) / 2 == pytest.approx(18.05)


def test_table_4_finds_the_paradox_and_its_cause(tmp_path: Path) -> None:
    table = table_4(SMALL, Quiet())
    none, laplace = measured(table, policy="none"), measured(table, policy="laplace")
    assert none == 1.0
    assert laplace <= 0.8
    assert measured(table, policy="ado") >= 0.95 * none
    values = json.loads(table.write(tmp_path).read_text())
    assert values["table"] == "ado-4"
    assert {"key", "published", "measured", "unit"} <= values["rows"][0].keys()
    assert any("DP alone" in note for note in table.notes)


def test_table_5_counts_attacks() -> None:
    table = table_5(SMALL, Quiet())
    assert measured(table, policy="none", metric="asr") > 50.0
    assert measured(table, policy="none", metric="asr") >= measured(table, policy="trustrag", metric="asr")


def test_table_8_leaves_out_what_cannot_run_without_a_model() -> None:
    table = table_8(SMALL, Quiet())
    blank = {row.key["policy"] for row in table.rows if row.measured is None}
    assert blank == {"av", "dp+av", "trustrag+av"}
    assert all(row.measured is None or math.isfinite(row.measured) for row in table.rows)


def test_settings_are_strict() -> None:
    with pytest.raises(ConfigError, match="ado-4 --set: unknown key 'source'"):
        table_4(SMALL.model_copy(update={"setting": {"source": "3"}}), Quiet())


def test_worlds_are_disjoint_where_they_must_be() -> None:
    embedder = CachedEmbedder(HashingEmbedder(64))
    world = cut("s", load_corpus("synthetic", n_documents=500), embedder, Sizes(200, 10, 10, 20, 6, 4), 0)
    held = {document.doc_id for document in world.prepared.corpus.documents}
    assert len(held) == 200
    assert {d.doc_id for d in world.members} <= held
    assert not {d.doc_id for d in world.strangers} & held
    for question in (*world.benign, *world.poisoned):
        assert world.relevant(question) <= held
    assert not {q.query_id for q in world.calibration} & {q.query_id for q in world.benign}
    stream = make_stream(world, (), 0)
    assert [item.request_id for item in stream] == [item.request_id for item in make_stream(world, (), 0)]
    assert {item.request_id for item in stream if item.attacked} == {i for i, _ in attacked_requests(world)}
    assert [item.time for item in stream] == sorted(item.time for item in stream)


def test_a_mix_keeps_corpora_apart() -> None:
    one = load_corpus("synthetic", n_documents=100)
    both = mix([one, one])
    assert len(both.documents) == 200
    assert len({d.doc_id for d in both.documents}) == 200
    assert both.questions[0].query_id.startswith("0:")
    assert both.questions[1].query_id.startswith("1:")
    assert all(docs <= {d.doc_id for d in both.documents} for docs in both.qrels.values())


def test_a_folder_without_data_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(DataError, match="neither a data set"):
        open_worlds(str(tmp_path), CachedEmbedder(HashingEmbedder(64)), Sizes(), 0)
