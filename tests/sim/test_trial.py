from __future__ import annotations

import pickle

import numpy as np
import pytest

from core.errors import ConfigError, DataError
from core.records import RetrievedDocument, SourceReply
from sim.config import RunConfig
from sim.corpora import load_corpus, select_questions
from sim.trial import plan_trial, request_id, tampers
from tests.sim.tiny_world import write_world


@pytest.fixture(scope="module")
def world(tmp_path_factory):
    return load_corpus(str(write_world(tmp_path_factory.mktemp("world"), n=40)))


def plan(world, number=0, queries=10, **settings):
    config = RunConfig(**{"attack": "poisonedrag", "sources": 5, **settings})
    categories = [document.category for document in world.documents]
    return plan_trial(number, config, world, categories, select_questions(world, queries))


def same_members(left, right):
    return all(np.array_equal(a, b) for a, b in zip(left.members, right.members, strict=True))


def test_a_trial_follows_from_its_seed_whatever_attack_and_defense(world):
    first = plan(world)
    assert same_members(first, plan(world))
    other = plan(world, attack="saa", defense="none", rounds_warmup=4)
    assert same_members(first, other)
    assert first.malicious == other.malicious
    assert [c.question for c in first.cases] == [c.question for c in other.cases]


def test_trials_differ_in_partition_placement_and_draws(world):
    trials = [plan(world, number, attack_option={"collude": False}) for number in range(4)]
    assert not any(same_members(trials[0], trial) for trial in trials[1:])
    assert len({trial.malicious for trial in trials}) > 1
    assert len({trial.seed for trial in trials}) == 4


def test_no_document_is_lost_and_replication_copies(world):
    trial = plan(world, replication=2)
    held = np.bincount(np.concatenate(trial.members), minlength=len(world.documents))
    assert held.min() >= 1
    assert held.sum() == 2 * len(world.documents)


def test_without_an_attack_nobody_is_malicious_but_one_source_can_be_asked_alone(world):
    trial = plan(world, attack="none")
    assert trial.malicious == ()
    assert trial.lone in trial.sources
    assert trial.cases[0].target == world.poisons[trial.cases[0].question.query_id].target_answer
    assert not trial.cases[0].active


def test_the_target_is_what_the_attack_pushes_and_the_right_answer_is_the_first_option(world):
    for case in plan(world, queries=30).cases:
        assert case.options[0] == case.question.answers[0]
        assert case.options[1] == case.target
        assert case.target not in case.question.answers


def test_without_a_target_a_forced_choice_still_has_a_wrong_option(world):
    cases = plan(world, attack="none", queries=40).cases
    without = [case for case in cases if case.question.query_id not in world.poisons]
    assert without
    for case in without:
        assert case.target is None
        assert len(case.options) == 2
        assert case.options[1] not in case.question.answers


def test_a_sleeper_is_honest_first(world):
    cases = plan(world, behavior="sleeper:4").cases
    assert [case.active for case in cases] == [False] * 4 + [True] * 6


def test_a_whitewashing_source_changes_its_name(world):
    trial = plan(world, behavior="whitewashing:3")
    liar = trial.malicious[0]
    assert [case.names[liar] for case in trial.cases[:4]] == [liar, liar, liar, f"{liar}-1"]
    assert f"{liar}-1" in trial.cases[3].malicious
    assert trial.labeller.is_malicious(f"{liar}-1")


def test_clean_replies_are_benign_even_from_sources_that_are_malicious_elsewhere(world):
    trial = plan(world)
    replies = [SourceReply(s, (RetrievedDocument(s, "d0", world.documents[0].text),)) for s in trial.sources]
    assert set(trial.labels(replies, trial.cases[0], attacked=False).values()) == {"benign"}
    under_attack = trial.labels(replies, trial.cases[0], attacked=True)
    assert {key.source_id for key, label in under_attack.items() if label == "neutral"} == set(
        trial.malicious
    )


def test_warm_up_asks_what_is_not_under_test(world):
    trial = plan(world, rounds_warmup=50)
    tested = {case.question.query_id for case in trial.cases}
    assert len(trial.warmup) == 50
    assert not tested & {question.query_id for question in trial.warmup}
    assert len({question.query_id for question in trial.warmup}) == 30
    assert len(plan(world, queries=40, rounds_warmup=3).warmup) == 3


def test_orders_travel_to_other_processes(world):
    for attack in ("poisonedrag", "ata"):
        schedule = plan(world, attack=attack).schedule
        assert pickle.loads(pickle.dumps(schedule)).keys() == schedule.keys()


def test_request_ids_fit_the_wire():
    assert request_id(2, "attack", "q7") == "t2/attack/q7"
    long = request_id(0, "clean", "é" * 200)
    assert len(long.encode()) <= 256
    assert long != request_id(0, "clean", "é" * 201)


def test_wrong_settings_are_errors(world):
    with pytest.raises(DataError, match="sources"):
        plan(world, sources=41, replication=1)
    with pytest.raises(ConfigError, match="prefix"):
        plan(world, attack="saa", attack_option={"prefix": False})
    with pytest.raises(ConfigError, match="behavior"):
        plan(world, behavior="sleeper:0")


def test_tampering_is_told_from_injection():
    assert tampers("ata")
    assert not tampers("saa")
    assert not tampers("none")
