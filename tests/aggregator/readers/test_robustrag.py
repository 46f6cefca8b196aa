from __future__ import annotations

import itertools
from collections import Counter
from collections.abc import Iterator, Sequence

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from aggregator.readers import robustrag
from aggregator.readers.robustrag import (
    HINTS,
    RobustRagReader,
    certify_keywords,
    hint_order,
    keywords,
    threshold,
)
from core.errors import ConfigError, LLMError
from core.reader import Reader, ReadRequest
from core.records import Candidate, DocumentKey
from tests.scripted_llm import ScriptedLLM

UNIVERSE = ("paris", "london", "rome")


def request(*texts: str) -> ReadRequest:
    return ReadRequest("capital?", tuple(Candidate(DocumentKey("s", str(i)), t) for i, t in enumerate(texts)))


def echoing() -> ScriptedLLM:
    """Alone with a document it repeats it; with hints it gives the first of them."""

    def answer(prompt: str) -> str:
        if prompt.startswith(HINTS):
            return prompt.split("Hints: ")[1].split("\n")[0].split(", ")[0]
        return prompt.split("[1] ")[1].split("\n")[0]

    return ScriptedLLM(answer)


def test_keywords_by_hand() -> None:
    assert keywords("The Eiffel Tower is in Paris.") == {
        "eiffel", "tower", "eiffel tower", "paris", "eiffel tower is in paris",
    }  # fmt: skip
    assert keywords("Paris") == {"paris"}
    assert keywords("the of") == {"of"} - {"of"}
    assert keywords("") == frozenset()


def test_a_minority_has_no_voice() -> None:
    llm = echoing()
    reader = RobustRagReader(llm)
    assert isinstance(reader, Reader)
    reading = reader.read(request(*["paris"] * 7, *["london"] * 2, "I don't know"))
    assert reading.text == "paris"  # mu = 2.7 of 9 votes
    assert reading.llm_calls == 11
    assert not any("[2]" in prompt for prompt in llm.prompts)  # each document alone
    assert "london" not in llm.prompts[-1]
    assert reader.read(request(*["paris"] * 5, *["london"] * 5)).text in ("paris", "london")


def test_nobody_knows() -> None:
    reading = RobustRagReader(ScriptedLLM("I don’t know that")).read(request("x", "y"))
    assert (reading.abstained, reading.llm_calls) == (True, 2)
    assert RobustRagReader(ScriptedLLM("x")).read(request()).abstained


def test_a_failure_is_a_failure() -> None:
    with pytest.raises(LLMError):
        RobustRagReader(ScriptedLLM(fail=True)).read(request("paris"))


def test_values_out_of_range() -> None:
    with pytest.raises(ConfigError, match="alpha must lie"):
        RobustRagReader(ScriptedLLM(), alpha=1.0)


def test_hints_are_in_one_order() -> None:
    assert hint_order({"b", "aa", "ab", "a"}) == ["ab", "aa", "b", "a"]


def test_certified_where_the_majority_is_large() -> None:
    reader = RobustRagReader(echoing())
    wide = reader.certify(request(*["paris"] * 9, "dropped"), 1, lambda answer: answer == "paris")
    assert (wide.certified, wide.tried) == (True, 1)
    narrow = reader.certify(
        request("paris", "paris", "london", "dropped"), 1, lambda answer: answer == "paris"
    )
    assert (narrow.certified, narrow.reason) == (False, "answer_can_change")
    assert reader.certify(request("paris", "x"), 1, bool).reason == "attacker_reaches_threshold"


def test_too_many_undecided_keywords_are_given_up() -> None:
    words = [f"{a}{b}" for a in "abcde" for b in "fghi"]
    found = certify_keywords(words, 2, lambda hints: True, alpha=0.3, beta=2.5)
    assert (found.certified, found.reason) == (False, "too_many_to_try")


def every_hint_set(
    responses: Sequence[str | None], injected: int, alpha: float, beta: float
) -> Iterator[frozenset[str]]:
    """What an attacker can bring about, found by trying every injection (each a set of words or silence)."""
    subsets = [frozenset(c) for n in range(len(UNIVERSE) + 1) for c in itertools.combinations(UNIVERSE, n)]
    known = [response for response in responses if response is not None]
    for injection in itertools.combinations_with_replacement([None, *subsets], injected):
        spoken = [votes for votes in injection if votes is not None]
        votes = Counter(word for response in known for word in keywords(response))
        votes.update(word for said in spoken for word in said)
        mu = threshold(len(known) + len(spoken), alpha, beta)
        yield frozenset(word for word, n in votes.items() if n >= mu)


@settings(max_examples=150)
@given(
    st.lists(st.sampled_from([*UNIVERSE, None]), max_size=6),
    st.integers(1, 2),
    st.sampled_from([(0.3, 3.0), (0.5, 3.0), (0.6, 2.5), (0.9, 4.0)]),
    st.lists(st.sampled_from(UNIVERSE), max_size=2, unique=True),
)
def test_certification_equals_exhaustive_search(
    responses: list[str | None], injected: int, limits: tuple[float, float], needed: list[str]
) -> None:
    """The answer is right iff every needed word is a hint and `rome` is not one beside `paris`."""

    def accept(hints: frozenset[str]) -> bool:
        return set(needed) <= hints and not {"rome", "paris"} <= hints

    alpha, beta = limits
    found = certify_keywords(responses, injected, accept, alpha=alpha, beta=beta)
    reachable = set(every_hint_set(responses, injected, alpha, beta))
    if found.reason == "attacker_reaches_threshold":
        assert not found.certified
        assert any(set(UNIVERSE) <= hints for hints in reachable)  # it can make any word a hint
    else:
        assert found.certified == all(accept(hints) for hints in reachable)


def test_every_set_that_is_tried_can_be_reached(monkeypatch: pytest.MonkeyPatch) -> None:
    seen: list[frozenset[str]] = []
    responses = ["paris", "paris", "paris", "london", "rome", "rome"]
    robustrag.certify_keywords(responses, 1, lambda hints: not seen.append(hints), alpha=0.5, beta=3.0)
    assert set(seen) == set(every_hint_set(responses, 1, 0.5, 3.0))
