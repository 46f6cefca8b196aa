from __future__ import annotations

import json

import pytest

from sim.config import RunConfig
from sim.corpora import load_corpus, select_questions
from sim.shards import OTHER, shard_table, with_trial
from sim.trial import plan_trial
from tests.sim.tiny_world import write_world


@pytest.fixture(scope="module")
def world(tmp_path_factory):
    return load_corpus(str(write_world(tmp_path_factory.mktemp("world"), n=40)))


def plan(world, number=0):
    config = RunConfig(attack="poisonedrag", sources=5)
    categories = [document.category for document in world.documents]
    return plan_trial(number, config, world, categories, select_questions(world, 4))


def test_every_document_is_counted_under_its_category(world):
    trial = plan(world)
    table = shard_table(trial, [document.category for document in world.documents])
    assert [s["documents"] for s in table["sources"]] == [len(held) for held in trial.members]
    assert all(sum(s["categories"].values()) == s["documents"] for s in table["sources"])
    assert {name for s in table["sources"] for name in s["categories"]} == {"c0", "c1", "c2", "c3"}
    assert [s["id"] for s in table["sources"] if s["malicious"]] == sorted(trial.malicious)
    json.dumps(table)


def test_topics_are_named_and_small_categories_counted_together(world):
    trial = plan(world)
    table = shard_table(trial, list(range(40)))
    names = {name for s in table["sources"] for name in s["categories"]}
    assert "topic 0" in names
    assert OTHER in names
    assert len(names) == 25


def test_trials_come_one_after_the_other_also_in_a_resumed_run(world, tmp_path):
    path = tmp_path / "shards.json"
    categories = [0] * 40
    for number in (0, 1, 1):  # the last as after an interruption
        path.write_text(json.dumps(with_trial(path, shard_table(plan(world, number), categories))))
    assert [one["trial"] for one in json.loads(path.read_text())["trials"]] == [0, 1]
    assert len(with_trial(None, {"trial": 0})["trials"]) == 1
