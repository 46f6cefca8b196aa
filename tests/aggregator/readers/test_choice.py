from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from aggregator.llm.transformers_llm import TransformersLLM
from aggregator.readers import open_reader
from aggregator.readers.choice import ChoiceReader, choice_prompt, fair_shares, fit
from core.errors import ConfigError, LLMError
from core.llm import Capability
from core.reader import Reader, ReadRequest
from core.records import Candidate, DocumentKey
from tests.aggregator.llm.tiny import make_tiny_llama
from tests.scripted_llm import ScriptedLLM


def request(*texts: str, options: tuple[str, ...] = ("Paris", "London")) -> ReadRequest:
    documents = tuple(Candidate(DocumentKey("s", str(i)), text) for i, text in enumerate(texts))
    return ReadRequest("what is the capital?", documents, options)


def test_the_option_that_the_context_supports() -> None:
    reader = ChoiceReader(ScriptedLLM())
    assert isinstance(reader, Reader)
    assert (reader.simulated, reader.forced_choice) == (False, True)
    assert reader.read(request("paris is it", "paris they say", "london")).text == "Paris"
    reading = reader.read(request("london is it", "london they say", "paris"))
    assert (reading.text, reading.llm_calls, reading.abstained) == ("London", 1, False)
    assert reading.scores == pytest.approx((-1 / 2, -1 / 3))


def test_ties_go_to_the_first() -> None:
    assert ChoiceReader(ScriptedLLM()).read(request("nothing")).text == "Paris"


def test_no_documents_no_answer_and_no_call() -> None:
    llm = ScriptedLLM()
    reading = ChoiceReader(llm).read(request())
    assert (reading.text, reading.abstained, reading.llm_calls) == ("", True, 0)
    assert llm.prompts == []


@pytest.mark.parametrize("options", [(), ("Paris",)])
def test_nothing_to_choose_between(options: tuple[str, ...]) -> None:
    with pytest.raises(ConfigError, match=f"was given {len(options)} of them"):
        ChoiceReader(ScriptedLLM()).read(request("paris", options=options))


def test_scores_come_from_disk_the_second_time() -> None:
    llm = ScriptedLLM()
    first = ChoiceReader(llm).read(request("paris"))
    again = ChoiceReader(llm).read(request("paris"))
    assert (again.text, again.scores, again.llm_calls) == (first.text, first.scores, 0)
    for other in (request("paris "), request("paris", options=("London", "Paris")), request("london")):
        ChoiceReader(llm).read(other)
    ChoiceReader(llm, context_words=9).read(request("paris"))
    assert len(llm.prompts) == 4  # squashed blanks are the same text


def test_a_failure_is_a_failure() -> None:
    with pytest.raises(LLMError):
        ChoiceReader(ScriptedLLM(fail=True)).read(request("paris"))


def test_a_back_end_without_scores_is_refused() -> None:
    llm = ScriptedLLM()
    llm.capabilities = frozenset({Capability.CHAT})
    with pytest.raises(ConfigError, match="reader 'choice' needs a language model with logprobs"):
        ChoiceReader(llm)


def test_long_documents_give_way() -> None:
    llm = ScriptedLLM()
    ChoiceReader(llm, context_words=20).read(request("paris " * 500, "london is here", "x" * 100_000))
    assert "london is here" in llm.prompts[0]
    assert llm.prompts[0].count("paris") == 16
    assert len(llm.prompts[0]) < 500


def test_a_real_model_behind_it(tmp_path: Path) -> None:
    folder = make_tiny_llama(tmp_path / "tiny")
    reader = open_reader(f"choice:transformers:{folder}", llm_options={"precision": "float32"})
    reading = reader.read(request("the capital of france is paris", options=("paris", "london")))
    prompt = choice_prompt("what is the capital?", ["the capital of france is paris"])
    assert reading.scores == pytest.approx(
        TransformersLLM(str(folder), precision="float32").log_likelihood(prompt, [" paris", " london"])
    )


def test_the_prompt() -> None:
    assert choice_prompt("who? ", ["a", "b"]) == "Context:\n[1] a\n[2] b\n\nQuestion: who?\nAnswer:"


@given(st.lists(st.integers(0, 300)), st.integers(0, 500))
def test_shares_are_fair(lengths: list[int], budget: int) -> None:
    shares = fair_shares(lengths, budget)
    assert sum(shares) <= budget
    assert all(0 <= share <= length for share, length in zip(shares, lengths, strict=True))
    cut = [share for share, length in zip(shares, lengths, strict=True) if share < length]
    if cut:  # nobody keeps more than a document that was cut, but for rounding
        assert max(shares) <= min(cut) + len(lengths)
        assert sum(shares) >= budget - len(lengths)
    else:
        assert shares == lengths


@given(st.lists(st.text()), st.integers(0, 50))
def test_fitting_keeps_beginnings(texts: list[str], budget: int) -> None:
    for text, short in zip(texts, fit(texts, budget), strict=True):
        assert " ".join(text.split()).startswith(short)
