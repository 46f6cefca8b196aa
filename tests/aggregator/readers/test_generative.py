from __future__ import annotations

import pytest

from aggregator.readers.generative import GenerativeReader, is_unknown
from core.errors import LLMError
from core.reader import Reader, ReadRequest
from core.records import Candidate, DocumentKey
from tests.scripted_llm import ScriptedLLM

DOCUMENTS = (
    Candidate(DocumentKey("a", "1"), "It is Paris.", title="France"),
    Candidate(DocumentKey("b", "1"), "It is London."),
)


def test_documents_in_order_then_the_question() -> None:
    llm = ScriptedLLM("Paris")
    reader = GenerativeReader(llm)
    assert isinstance(reader, Reader)
    assert (reader.name, reader.simulated, reader.forced_choice) == ("scripted", False, False)
    reading = reader.read(ReadRequest("capital?", DOCUMENTS))
    assert (reading.text, reading.abstained, reading.llm_calls) == ("Paris", False, 1)
    assert llm.prompts[0].endswith("[1] France. It is Paris.\n[2] It is London.\n\nQuestion: capital?")


def test_no_documents_no_call() -> None:
    llm = ScriptedLLM("Paris")
    assert GenerativeReader(llm).read(ReadRequest("capital?", ())).abstained
    assert llm.prompts == []


@pytest.mark.parametrize("answer", ["I don't know.", "I don’t know", "i don't know which", ""])
def test_not_knowing_is_an_abstention(answer: str) -> None:
    assert GenerativeReader(ScriptedLLM(answer)).read(ReadRequest("capital?", DOCUMENTS)).abstained


def test_knowing_is_not() -> None:
    assert not is_unknown("Paris, I don't know why")


def test_a_failure_is_a_failure() -> None:
    with pytest.raises(LLMError):
        GenerativeReader(ScriptedLLM(fail=True)).read(ReadRequest("capital?", DOCUMENTS))
