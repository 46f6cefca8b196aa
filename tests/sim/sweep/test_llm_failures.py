"""A language model behind HTTP that misbehaves: what fails is seen, and nothing is asked twice."""

from __future__ import annotations

import json

import pytest

from core.config import parse
from core.errors import ScrError
from sim.progress import Quiet
from sim.sweep.config import SweepConfig
from sim.sweep.runner import run_sweep
from sim.sweep.table import tidy
from sim.sweep.work import _model
from tests.fake_llm_server import Reply, fake_llm_server
from tests.sim.tiny_world import write_world

QUERIES = 3


@pytest.fixture(scope="module")
def world(tmp_path_factory):
    return str(write_world(tmp_path_factory.mktemp("world"), n=20))


@pytest.fixture(autouse=True)
def _one_model_a_test(monkeypatch):
    monkeypatch.setenv("OPENAI_API_KEY", "none")
    _model.cache_clear()
    yield
    _model.cache_clear()


def sweep(world, server, out, monkeypatch, defense, **base):
    monkeypatch.setenv("OPENAI_BASE_URL", server.base_url)
    given = {"dataset": world, "queries": QUERIES, "sources": 4, "embedder": "hashing"}
    axes = {"attack": "poisonedrag", "defense": [defense], "workers": 1, "timed": 1}
    return run_sweep(parse(SweepConfig, {**axes, "base": {**given, **base}}, "test"), out, Quiet())


@pytest.mark.parametrize(
    "trouble",
    [Reply("status", status=429, headers={"Retry-After": "0"}), Reply("closed")],
    ids=lambda reply: reply.kind,
)
def test_a_run_cut_off_by_its_model_goes_on_without_a_second_call(world, tmp_path, monkeypatch, trouble):
    good, reader = [Reply(text="red")], "none@openai:fake"
    options = {"llm_options": {"retries": 1, "backoff_s": 0.0, "timeout_s": 20.0}}
    with fake_llm_server([*good, *[trouble] * 2]) as server:  # the second question fails in both attempts
        with pytest.raises(ScrError, match=r"1 of 1 cells failed.*openai:fake: .* after 2 attempts"):
            sweep(world, server, tmp_path, monkeypatch, reader, **options)
        assert len(server.requests) == 3
        assert not list((tmp_path / "cells").iterdir())  # no round of it counts as an attack that failed
        _model.cache_clear()  # as in a new process
        (cell,) = sweep(world, server, tmp_path, monkeypatch, reader, **options)
        assert len(cell["rounds"]) == QUERIES
        assert all(record["attack_success"] is not None for record in cell["rounds"])
        # three that the first run made, then one for each question still open: none for the first
        asked = [json.dumps(request, sort_keys=True) for request in server.requests]
        assert len(asked) == 3 + QUERIES - 1
        assert asked.count(asked[0]) == 1


def test_calls_that_fail_in_a_stage_are_counted_and_judge_nothing(world, tmp_path, monkeypatch):
    stages = {"filterrag": {"options": {"word_cosine": 1, "epsilon": 0.01}}}
    with fake_llm_server([Reply("status", status=400)] * 500) as server:
        (cell,) = sweep(world, server, tmp_path, monkeypatch, "filterrag", llm="openai:fake", stages=stages)
    failed = cell["metrics"]["failures"]["llm"]
    assert (
        failed == sum(record["benign"] + record["malicious"] >= 1 for record in cell["rounds"]) or failed > 0
    )
    assert all(record["kept"] == record["benign"] for record in cell["rounds"])
    assert all(record["rejected"] == 0 for record in cell["rounds"])
    assert tidy(cell)["llm_failures"] == failed
    assert tidy(cell)["source_failures"] == 0


def test_a_required_check_that_breaks_down_is_no_attack_that_failed(world, tmp_path, monkeypatch):
    from core.errors import LLMError
    from defenses.filterrag import FilterRagStage

    def broken(self, given):
        raise LLMError("server is down")

    monkeypatch.setattr(FilterRagStage, "run", broken)
    stages = {"filterrag": {"required": True, "options": {"word_cosine": 1}}}
    with fake_llm_server() as server:
        (cell,) = sweep(world, server, tmp_path, monkeypatch, "filterrag", llm="openai:fake", stages=stages)
    assert all(record["refused"] for record in cell["rounds"])
    assert all(record["attack_success"] is None for record in cell["rounds"])
    assert all(record["correct"] is False for record in cell["rounds"])
    assert cell["metrics"]["asr"] == {"value": None, "ci95": None, "n": 0}
    assert cell["metrics"]["stages"]["filterrag"]["errors"] == QUERIES
