from __future__ import annotations

import threading
from pathlib import Path

import numpy as np
import pytest

from aggregator.reputation import Reputation
from aggregator.verification import AgreementStage, VerificationStage
from core.errors import CheckpointError, ConfigError
from core.llm import Capability
from core.pipeline import Pipeline, PipelineStage
from core.records import Query
from core.stage import DocumentStage, Hook, Resources, StageInput
from core.verdict import Action
from gnn.round import VerificationRound
from tests.gnn.parts import EMBEDDER, FALSE, OTHER, QUESTION, TRUE, a_round, dispute_round, make_checkpoint
from tests.scripted_llm import ScriptedLLM

RESOURCES = Resources(embedder=EMBEDDER)


@pytest.fixture
def checkpoint(tmp_path: Path) -> str:
    make_checkpoint(network=True).save(tmp_path / "c.npz")
    return str(tmp_path / "c.npz")


def given(prepared: VerificationRound, vectors: bool = True) -> StageInput:
    return StageInput(
        Query(prepared.question),
        prepared.candidates,
        prepared.vectors if vectors else None,
        prepared.question_vector if vectors else None,
    )


def stage(checkpoint: str, reputation: Reputation | None = None, **config: object) -> VerificationStage:
    return VerificationStage({"checkpoint": checkpoint, **config}, RESOURCES, reputation)


def test_it_keeps_the_contract(checkpoint: str) -> None:
    made = stage(checkpoint)
    assert isinstance(made, DocumentStage)
    assert made.hook is Hook.POST_RETRIEVAL
    for vectors in (True, False):
        result = Pipeline([PipelineStage(made, Hook.POST_RETRIEVAL, True)]).run(
            given(dispute_round(), vectors)
        )
        verdicts = result.trail[0].verdicts
        assert len(verdicts) == 5
        assert {d.key for d in result.documents} == {v.key for v in verdicts if v.action is Action.KEEP}
        assert all(v.credibility is not None and np.isfinite(v.credibility) for v in verdicts)
        assert all({"content", "verification", "agree", "conflict"} <= set(v.evidence) for v in verdicts)
    assert made.run(StageInput(Query(QUESTION), ())).documents == ()


def test_liars_are_dropped_and_the_reputation_learns_it(checkpoint: str) -> None:
    reputation = Reputation()
    made = stage(checkpoint, reputation)
    for _ in range(8):
        result = made.run(given(dispute_round()))
    assert [v.action for v in result.verdicts] == [Action.KEEP] * 3 + [Action.DROP] * 2
    assert {v.reason for v in result.verdicts if v.action is Action.DROP} == {"not_credible"}
    found = reputation.reliability(["h0", "l0"])
    assert found["h0"] > 0.8 > 0.3 > found["l0"]
    smoothed, before = reputation.smoothed(["l0"])["l0"], reputation.previous(["l0"])["l0"]
    assert smoothed < before < 0.5  # Eq. 13 beside it


def test_its_state_survives_a_restart(checkpoint: str, tmp_path: Path) -> None:
    whole = stage(checkpoint, Reputation(tmp_path / "whole.sqlite"))
    for _ in range(4):
        wanted = whole.run(given(dispute_round()))
    for _ in range(4):
        reputation = Reputation(tmp_path / "parts.sqlite")
        found = stage(checkpoint, reputation).run(given(dispute_round()))
        reputation.close()
    assert found.verdicts == wanted.verdicts


def test_frozen_reputation_learns_nothing(checkpoint: str) -> None:
    reputation = Reputation()
    made = stage(checkpoint, reputation)
    with reputation.frozen():
        made.run(given(dispute_round()))
    assert reputation.state("scr/beliefs") is None


def suspicious_rounds() -> list[VerificationRound]:
    """Clean rounds of a domain whose documents quote half the question, a third of them more."""
    rounds = []
    for i in range(12):
        name = "abcdefghijkl"[i] * 4
        held = [(f"{TRUE} Record {name}{j} says so.", [f"h{j}"]) for j in range(4)]
        if i % 3 == 0:
            held.append((f"{QUESTION} {TRUE} Note {name}.", ["h4"]))
        rounds.append(a_round(held, sources=[f"h{j}" for j in range(5)]))
    return rounds


def test_warm_up_chooses_a_threshold_and_judges_its_rounds_again(checkpoint: str) -> None:
    foreign = stage(checkpoint, reputation := Reputation())
    for prepared in suspicious_rounds():
        foreign.run(given(prepared))
    accused = reputation.reliability(["h4"])["h4"]

    warmed = stage(checkpoint, reputation := Reputation(), clean_cost=0.01)
    before = warmed.scorer.threshold
    warmed.begin_warmup()
    for prepared in suspicious_rounds():
        warmed.run(given(prepared))
    warmed.end_warmup()
    assert warmed.scorer.threshold != before
    logits = np.concatenate([warmed.scorer.content_logits(r) for r in suspicious_rounds()])
    assert (logits < warmed.scorer.threshold).mean() <= 0.02
    assert reputation.reliability(["h4"])["h4"] > accused  # the foreign threshold's verdicts are gone
    assert warmed._state().rounds == 12
    assert warmed.run(given(suspicious_rounds()[0])).documents  # what it quotes is normal here


def test_the_threshold_survives_a_restart_but_a_configured_one_wins(checkpoint: str, tmp_path: Path) -> None:
    path = tmp_path / "r.sqlite"
    warmed = stage(checkpoint, Reputation(path))
    warmed.begin_warmup()
    for prepared in suspicious_rounds():
        warmed.run(given(prepared))
    warmed.end_warmup()
    assert stage(checkpoint, Reputation(path)).scorer.threshold == warmed.scorer.threshold
    fixed = stage(checkpoint, Reputation(path), threshold=1.25)
    assert fixed.scorer.threshold == 1.25
    fixed.begin_warmup()
    fixed.run(given(suspicious_rounds()[0]))
    fixed.end_warmup()
    assert fixed.scorer.threshold == 1.25


def test_warm_up_without_rounds_changes_nothing(checkpoint: str) -> None:
    made = stage(checkpoint)
    made.begin_warmup()
    made.end_warmup()
    made.end_warmup()
    assert made.scorer.threshold == 0.0


def test_agreement_needs_no_content(checkpoint: str) -> None:
    made = AgreementStage({"checkpoint": checkpoint}, RESOURCES)
    held = a_round([(f"{QUESTION} {TRUE}", ["a"]), (OTHER, ["b"]), (FALSE, ["c"])])
    assert made.name == "agreement"
    assert len(made.run(given(held)).verdicts) == 3
    made.begin_warmup()
    made.run(given(held))
    made.end_warmup()
    assert made.reputation.state("agreement/threshold") is None
    assert made.reputation.state("agreement/beliefs") is not None


def test_two_stages_keep_their_beliefs_apart(checkpoint: str) -> None:
    reputation = Reputation()
    stage(checkpoint, reputation).run(given(dispute_round()))
    assert AgreementStage({"checkpoint": checkpoint}, RESOURCES, reputation)._state() is None


def test_rounds_that_arrive_together_are_all_counted(checkpoint: str) -> None:
    made = stage(checkpoint)
    threads = [threading.Thread(target=made.run, args=(given(dispute_round()),)) for _ in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert made._state().rounds == 6


def test_what_is_wrong_is_said(checkpoint: str, tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="'scr' needs an embedder"):
        VerificationStage({"checkpoint": checkpoint}, Resources())
    with pytest.raises(ConfigError, match="unknown key 'treshold'"):
        stage(checkpoint, treshold=1.0)
    with pytest.raises(CheckpointError, match="none"):
        VerificationStage({"checkpoint": str(tmp_path / "none.npz")}, RESOURCES)


def test_the_audit_needs_a_model_and_reports_what_it_did(checkpoint: str) -> None:
    with pytest.raises(ConfigError, match="commonsense audit of defense 'scr' needs a language model"):
        stage(checkpoint, audit=True)
    with pytest.raises(ConfigError, match=r"tau_low 0\.7 must not be above tau_high 0\.6"):
        stage(checkpoint, tau_low=0.7)
    llm = ScriptedLLM(lambda prompt: '{"penalty": 0.9}' if "19 kg" in prompt else "prose")
    llm.capabilities = frozenset({Capability.CHAT})
    made = VerificationStage(
        {"checkpoint": checkpoint, "audit": True, "tau_low": 0.0, "tau_high": 1.0, "network": False},
        Resources(embedder=EMBEDDER, llm=llm),
    )
    result = made.run(given(dispute_round()))
    assert result.notes == {"audits": 5.0, "audit_failures": 3.0}
    again = made.run(given(dispute_round()))  # what failed is asked again; each round counts its own
    assert again.notes == {"audits": 3.0, "audit_failures": 3.0}
    assert [v.evidence.get("commonsense") for v in result.verdicts] == [None] * 3 + [0.9] * 2
