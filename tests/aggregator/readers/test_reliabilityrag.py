from __future__ import annotations

import itertools

import pytest
from hypothesis import given
from hypothesis import strategies as st

from aggregator.readers.reliabilityrag import (
    JUDGE,
    ReliabilityRagReader,
    answers_differ,
    largest_independent_set,
)
from core.errors import ConfigError, LLMError
from core.reader import Reader, ReadRequest
from core.records import Candidate, DocumentKey
from tests.scripted_llm import ScriptedLLM


def request(*texts: str, seed: int = 0) -> ReadRequest:
    documents = tuple(Candidate(DocumentKey("s", str(i)), text) for i, text in enumerate(texts))
    return ReadRequest("capital?", documents, seed=seed)


def reading(prompt: str) -> str:
    """Alone or together, what the first document says; as a judge, whether the answers are equal."""
    if prompt.startswith(JUDGE):
        first, second = (line.split(": ")[1] for line in prompt.splitlines()[-2:])
        return "agree" if first == second else "Contradict."
    return prompt.split("[1] ")[1].split("\n")[0]


@pytest.mark.parametrize("contradiction", ["overlap", "llm"])
def test_the_largest_consistent_set_is_read(contradiction: str) -> None:
    llm = ScriptedLLM(reading)
    reader = ReliabilityRagReader(llm, contradiction=contradiction)  # type: ignore[arg-type]
    assert isinstance(reader, Reader)
    found = reader.read(request("London", "Paris", "I don't know", "Paris", "London", "Paris"))
    assert found.text == "Paris"
    assert found.cited == ("s/1", "s/3", "s/5")
    assert found.llm_calls == 7 + (10 if contradiction == "llm" else 0)


def test_ties_go_to_the_better_ranks() -> None:
    assert ReliabilityRagReader(ScriptedLLM(reading)).read(request("London", "Paris")).cited == ("s/0",)


def test_where_nobody_knows_all_are_read() -> None:
    found = ReliabilityRagReader(ScriptedLLM("I don't know")).read(request("a", "b"))
    assert found.abstained
    assert found.cited == ("s/0", "s/1")
    assert ReliabilityRagReader(ScriptedLLM("x")).read(request()).abstained


def test_many_documents_are_sampled_by_rank_and_seed() -> None:
    texts = ["Paris"] * 15 + ["London"] * 10
    llm = ScriptedLLM(reading)
    reader = ReliabilityRagReader(llm, rounds=12, sample=1, decay=0.8)
    first = reader.read(request(*texts, seed=1))
    assert first.text == "Paris"
    assert first.llm_calls == 13
    assert first == reader.read(request(*texts, seed=1))
    assert first.cited != reader.read(request(*texts, seed=2)).cited


def test_a_failure_is_a_failure() -> None:
    with pytest.raises(LLMError):
        ReliabilityRagReader(ScriptedLLM(fail=True)).read(request("a"))


def test_values_out_of_range() -> None:
    with pytest.raises(ConfigError, match="contradiction must be"):
        ReliabilityRagReader(ScriptedLLM(), contradiction="nli")  # type: ignore[arg-type]
    with pytest.raises(ConfigError, match="rounds and sample"):
        ReliabilityRagReader(ScriptedLLM(), rounds=0)


@pytest.mark.parametrize(
    ("left", "right", "differ"),
    [
        ("Paris", "the paris.", False),
        ("Paris", "It is Paris", False),
        ("Paris", "London", True),
        ("Elvis Presley", "Presley, Elvis Aaron", False),
        ("Elvis Presley", "Elvis Costello", True),
        ("in the year 1874", "in the year 1931", True),
        ("", "x", True),
    ],
)
def test_answers_differ(left: str, right: str, differ: bool) -> None:
    assert answers_differ(left, right) == differ == answers_differ(right, left)


@given(st.integers(0, 7), st.sets(st.tuples(st.integers(0, 6), st.integers(0, 6))))
def test_the_largest_set_equals_exhaustive_search(n: int, pairs: set[tuple[int, int]]) -> None:
    edges = {(min(p), max(p)) for p in pairs if p[0] != p[1] and max(p) < n}
    best: tuple[int, ...] = ()
    for size in range(n, -1, -1):
        sets = [
            c for c in itertools.combinations(range(n), size) if not any(a in c and b in c for a, b in edges)
        ]
        if sets:
            best = min(sets)
            break
    assert largest_independent_set(n, edges) == list(best)


def test_twenty_documents_in_conflict_are_quick() -> None:
    edges = {(a, b) for a in range(20) for b in range(a + 1, 20) if (a + b) % 3}
    assert len(largest_independent_set(20, edges)) >= 1
