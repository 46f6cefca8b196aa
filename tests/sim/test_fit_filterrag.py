from __future__ import annotations

import json

import pytest

from core.config import parse
from core.errors import ConfigError, DataError
from core.stage import Resources
from defenses.ml_filterrag import MlFilterRagStage
from sim.corpora import load_corpus, select_questions
from sim.fit_cli import fit
from sim.fit_filterrag import FitOptions, fit_filterrag
from sim.progress import Quiet
from sim.training_rounds import split_of
from tests.defenses.rounds import a_round, kept
from tests.scripted_llm import ScriptedLLM
from tests.sim.tiny_world import write_world


@pytest.fixture(scope="module")
def world(tmp_path_factory):
    return str(write_world(tmp_path_factory.mktemp("world"), n=40))


def options(world, **given):
    values = {"dataset": [world], "embedder": "hashing", "features": {"word_cosine": 1, "max_tokens": 8}}
    return parse(FitOptions, {**values, "skip": 3, "queries": 4, "trees": 8, **given}, "test")


def last_word(prompt):
    return prompt.split("Question:")[0].split()[-1]


def test_it_learns_from_training_questions_alone(world, tmp_path):
    llm = ScriptedLLM(last_word)
    forest = fit_filterrag(options(world), Quiet(), llm)
    asked = {
        prompt.rpartition("Question: ")[2].split("\n")[0] for prompt in llm.prompts if "Question: " in prompt
    }
    corpus = load_corpus(world)
    after = [q for q in select_questions(corpus)[3:] if q.query_id in corpus.poisons]
    train = [q.text for q in after if split_of(q) == "train"][:4]
    held = [q.text for q in after if split_of(q) == "validation"][:4]
    assert asked == {*train, *held}
    assert forest.about["questions"] == {corpus.name: {"train": len(train), "validation": len(held)}}
    assert forest.about["rows"] == 10 * len(train)
    assert forest.about["train_accuracy"] > 0.9
    path = tmp_path / "forest.json"
    path.write_text(forest.dumps(), encoding="utf-8")
    stage = MlFilterRagStage({"forest": path}, Resources(llm=ScriptedLLM(last_word)))
    question = after[0]
    poison = f"{question.text} {corpus.poisons[question.query_id].texts[0]}"
    assert kept(stage.run(a_round(question.text, [corpus.documents[0].text, poison]))) == [0]


def test_equal_options_give_equal_forests(world):
    first, again = (fit_filterrag(options(world), Quiet(), ScriptedLLM(last_word)) for _ in range(2))
    assert first.dumps() == again.dumps()


def test_none_may_be_held_out(world):
    forest = fit_filterrag(options(world, held_out=0, queries=2), Quiet(), ScriptedLLM(last_word))
    assert [*forest.about["questions"].values()] == [{"train": 2, "validation": 0}]
    assert forest.about["validation_accuracy"] is None


def test_a_folder_without_questions_to_train_on_is_named(world):
    with pytest.raises(DataError, match="no question for training has a poison record"):
        fit_filterrag(options(world, skip=39), Quiet(), ScriptedLLM("x"))


def test_the_command_trains_what_it_knows(tmp_path):
    with pytest.raises(ConfigError, match="known: ml_filterrag"):
        fit("tris", tmp_path / "x.json")
    with pytest.raises(ConfigError, match="dataset"):
        fit("ml_filterrag", tmp_path / "x.json", config=None)
    path = tmp_path / "fit.yaml"
    path.write_text(json.dumps({"dataset": ["x"], "query": 3}), encoding="utf-8")
    with pytest.raises(ConfigError, match="unknown key 'query'"):
        fit("ml_filterrag", tmp_path / "x.json", config=path)
