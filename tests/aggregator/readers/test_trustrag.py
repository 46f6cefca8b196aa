from __future__ import annotations

import pytest

from aggregator.readers.trustrag import CONSOLIDATE, FINAL, OWN, TrustRagReader
from core.errors import LLMError
from core.reader import Reader, ReadRequest
from core.records import Candidate, DocumentKey
from tests.scripted_llm import ScriptedLLM

DOCUMENTS = (Candidate(DocumentKey("s", "1"), "It is Paris."),)


def test_three_calls_each_sees_what_it_should() -> None:
    def answer(prompt: str) -> str:
        return {OWN: "memory of Lyon", CONSOLIDATE: "facts on Paris", FINAL: "Paris"}[prompt.split("\n")[0]]

    llm = ScriptedLLM(answer)
    reader = TrustRagReader(llm)
    assert isinstance(reader, Reader)
    found = reader.read(ReadRequest("capital?", DOCUMENTS))
    assert (found.text, found.abstained, found.llm_calls) == ("Paris", False, 3)
    own, consolidate, final = llm.prompts
    assert "Paris" not in own
    assert "memory of Lyon" in consolidate
    assert "It is Paris." in consolidate
    assert "facts on Paris" in final
    assert "It is Paris." not in final


def test_without_documents_it_still_has_its_memory() -> None:
    llm = ScriptedLLM("I don't know")
    assert TrustRagReader(llm).read(ReadRequest("capital?", ())).abstained
    assert "(none)" in llm.prompts[1]


def test_a_failure_is_a_failure() -> None:
    with pytest.raises(LLMError):
        TrustRagReader(ScriptedLLM(fail=True)).read(ReadRequest("capital?", DOCUMENTS))
