from __future__ import annotations

import pytest

from core.llm import Capability, Completion
from sim.progress import Quiet
from sim.reproduce import REPRODUCTIONS
from sim.reproduce.rivals import filterrag_table, trustrag_table
from sim.reproduce.table import ReproduceOptions
from sim.reproduce.tris_lab import Lab
from tests.sim.tiny_world import write_world


class Terse:
    """Answers every document with one word."""

    name = "terse"
    identity = "terse/1"
    capabilities = frozenset({Capability.CHAT})

    def complete(self, messages, *, max_tokens=128, temperature=0.0, seed=None):
        return Completion("red", 3, 1)


@pytest.fixture(scope="module")
def world(tmp_path_factory):
    return str(write_world(tmp_path_factory.mktemp("rivals") / "nq", n=40))


def options(world, **setting):
    return ReproduceOptions(dataset=world, embedder="hashing", queries=2, setting=setting)


def rows(table):
    return {tuple(row.key.values()): row for row in table.rows}


def test_trustrag_stands_beside_its_published_figures_at_every_share(world):
    assert REPRODUCTIONS.get("trustrag-2") is trustrag_table
    table = trustrag_table(options(world), Quiet())
    found = rows(table)
    assert found["nq", "none", 100, 2, "asr"].published == 98
    assert found["nq", "trustrag", 40, 2, "accuracy"].published == 62
    assert found["nq", "trustrag", 0, 2, "accuracy"].published == 65
    assert ("nq", "none", 0, 2, "asr") not in found
    assert all(row.measured is not None for row in table.rows)
    assert "TrustRAG" in table.source


def test_filterrag_counts_what_it_lets_pass(world, monkeypatch):
    assert REPRODUCTIONS.get("filterrag-1") is filterrag_table
    monkeypatch.setattr(Lab, "llm", Terse())
    found = rows(filterrag_table(options(world), Quiet()))
    assert found["nq", "none", 2, "atr"].measured == 100.0
    assert found["nq", "none", 2, "atr"].published == 98.0
    assert 0.0 <= found["nq", "filterrag", 2, "atr"].measured <= 100.0
    assert found["nq", "clean", 2, "target"].published == 1.0
