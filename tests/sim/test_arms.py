from __future__ import annotations

import pytest

from aggregator.fan_out import Gathered
from core.embedding.hashing import HashingEmbedder
from core.reader import Reading
from core.records import RetrievedDocument, SourceFailure, SourceReply
from sim.arms import ArmRun, only, plan_arms, stage_specs
from sim.config import RunConfig


def names(compare=True, **settings):
    return [arm.name for arm in plan_arms(RunConfig(**settings), compare)]


def test_a_defense_is_compared_with_all_baselines_and_comes_last():
    assert names(attack="saa") == ["no_attack", "no_attack_defended", "ms_rag", "ss_rag", "defended"]
    arms = {arm.name: arm for arm in plan_arms(RunConfig(attack="saa", defense=["scr", "tris"]), True)}
    assert [arm.title for arm in arms.values()] == [
        "no attack, undefended",
        "no attack, SCR + tris",
        "undefended (MS-RAG)",
        "single source (SS-RAG)",
        "SCR + tris",
    ]
    assert arms["defended"].attacked
    assert arms["defended"].defended
    assert not arms["no_attack_defended"].attacked
    assert arms["ss_rag"].single


@pytest.mark.parametrize(
    ("settings", "expected"),
    [
        ({"attack": "saa", "defense": "none"}, ["no_attack", "ss_rag", "ms_rag"]),
        ({"attack": "saa", "defense": "ss-rag"}, ["no_attack", "ms_rag", "ss_rag"]),
        ({"defense": "scr"}, ["no_attack", "defended"]),
        ({"defense": "none"}, ["ms_rag"]),
        ({"defense": "ss-rag"}, ["no_attack", "ss_rag"]),
    ],
)
def test_no_arm_stands_twice(settings, expected):
    assert names(**settings) == expected


@pytest.mark.parametrize("defense", ["scr", "none", "ss-rag"])
def test_alone_a_defense_is_the_only_arm(defense):
    (arm,) = plan_arms(RunConfig(attack="ata", defense=defense), compare=False)
    assert arm.attacked
    assert arm.defended == (defense == "scr")


def test_stage_settings_and_checkpoint_reach_their_stages(tmp_path):
    config = RunConfig(
        defense=["scr", "ragmask"],
        stages={"ragmask": {"required": True, "options": {"m": 3}}},
        checkpoint=tmp_path / "x.pt",
    )
    scr, ragmask = stage_specs(config)
    assert scr.options == {"checkpoint": str(tmp_path / "x.pt")}
    assert ragmask.required
    assert ragmask.options == {"m": 3}


class FirstWords:
    """A reader that says the first document's text."""

    name, simulated, forced_choice = "first", True, False

    def read(self, request):
        return Reading(request.documents[0].text)


def reply(source, *texts):
    return SourceReply(source, tuple(RetrievedDocument(source, f"d{i}", t) for i, t in enumerate(texts)))


def test_an_arm_answers_from_what_was_gathered_and_a_single_source_alone(tmp_path):
    gathered = Gathered(
        (reply("a", "rivers run deep"), reply("b", "who runs")), (SourceFailure("c", "deadline"),), 4.0
    )
    arm = plan_arms(RunConfig(defense="none"), False)[0]
    run = ArmRun(arm, RunConfig(defense="none"), HashingEmbedder(), FirstWords(), None, None, 0, tmp_path)
    whole = run.ask("who runs", "t0/clean/q", (), gathered)
    assert whole.text == "who runs"
    assert whole.query.request_id == "t0/clean/q"
    alone = run.ask("who runs", "t0/clean/q", (), only(gathered, "a"))
    assert alone.text == "rivers run deep"
    assert only(gathered, "c").failures == gathered.failures
    assert only(gathered, "c").replies == ()
    run.close()
