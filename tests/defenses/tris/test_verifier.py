from __future__ import annotations

import pytest

from core.records import Candidate, DocumentKey
from defenses.tris.verifier import CLAIM, JUDGE, OWN_ANSWER, Opinion, Verifier
from tests.scripted_llm import ScriptedLLM

DOCUMENTS = [Candidate(DocumentKey("s", str(i)), text) for i, text in enumerate(["true text", "false text"])]


def scripted(own: str = "Orla Venn", verdict: str | None = None) -> ScriptedLLM:
    def answer(prompt: str) -> str:
        if prompt.startswith(OWN_ANSWER):
            return own
        if prompt.startswith(CLAIM):
            return "it says " + prompt.rsplit("Document: ", 1)[1]
        if verdict is not None:
            return verdict
        return "Contradicts." if "false" in prompt else "compatible"

    return ScriptedLLM(answer)


def test_a_clear_contradiction_and_nothing_else() -> None:
    llm = scripted()
    verifier = Verifier(llm, "who?")
    assert verifier.judge(DOCUMENTS) == [Opinion.COMPATIBLE, Opinion.CONTRADICT]
    assert (verifier.calls, verifier.failures) == (5, 0)
    assert llm.prompts[-1] == f"{JUDGE}\nQuestion: who?\nBelief: Orla Venn\nClaim: it says false text"


def test_one_call_per_document() -> None:
    verifier = Verifier(scripted(), "who?", document_calls=1)
    assert verifier.judge(DOCUMENTS) == [Opinion.COMPATIBLE, Opinion.CONTRADICT]
    assert verifier.calls == 3


@pytest.mark.parametrize("own", ["uncertain", "I am not sure.", "I don't know", "I don’t know"])
def test_an_uncertain_belief_judges_nobody(own: str) -> None:
    verifier = Verifier(scripted(own), "who?")
    assert verifier.judge(DOCUMENTS) == [Opinion.UNCERTAIN] * 2
    assert verifier.calls == 1


@pytest.mark.parametrize("verdict", ["", "maybe", '{"verdict": 3}', "It might contradict", "uncontradicted"])
def test_a_malformed_verdict_fails_open(verdict: str) -> None:
    assert Verifier(scripted(verdict=verdict), "who?").judge(DOCUMENTS) == [Opinion.FAILED] * 2


def test_a_failed_call_fails_open_and_is_counted() -> None:
    verifier = Verifier(ScriptedLLM(fail=True), "who?")
    assert verifier.judge(DOCUMENTS) == [Opinion.FAILED] * 2
    assert (verifier.calls, verifier.failures) == (1, 1)
