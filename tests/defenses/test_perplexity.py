from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pytest
from numpy.typing import NDArray

from core.errors import ConfigError
from core.llm import Capability
from core.stage import Resources
from core.verdict import Action
from defenses.perplexity import PerplexityStage
from tests.defenses.rounds import a_round, kept
from tests.scripted_llm import ScriptedLLM


class Scorer(ScriptedLLM):
    """Each `?` of a text costs one nat per token."""

    def log_likelihood(self, prompt: str, continuations: Sequence[str]) -> NDArray[np.float64]:
        super().log_likelihood(prompt, continuations)
        return np.array([-2.0 - text.count("?") for text in continuations])


FLUENT = ["one plain text", "another plain text", "a third plain text", "the fourth plain text"]


def test_the_unlikely_one_goes() -> None:
    stage = PerplexityStage({}, Resources(llm=Scorer()))
    result = stage.run(a_round("q", [*FLUENT, "zq ?? xv ?"]))
    assert kept(result) == [0, 1, 2, 3]
    assert result.verdicts[4].evidence["perplexity"] == pytest.approx(np.exp(5.0))
    assert (result.verdicts[4].credibility or 0.0) < 0.5 < (result.verdicts[0].credibility or 0.0)


def test_a_fixed_limit() -> None:
    stage = PerplexityStage({"limit": float(np.exp(2.5))}, Resources(llm=Scorer()))
    assert kept(stage.run(a_round("q", ["plain", "odd ?"]))) == [0]


def test_small_rounds_are_not_judged_by_themselves() -> None:
    assert kept(PerplexityStage({}, Resources(llm=Scorer())).run(a_round("q", ["plain", "odd ???"]))) == [
        0,
        1,
    ]


def test_a_text_is_read_once() -> None:
    llm = Scorer()
    stage = PerplexityStage({}, Resources(llm=llm))
    for _ in range(3):
        stage.run(a_round("q", ["plain", "plain", "odd ?"]))
    assert len(llm.prompts) == 2


def test_failures_and_empty_texts_are_not_judged_and_failures_are_counted() -> None:
    stage = PerplexityStage({"limit": 2.0}, Resources(llm=Scorer(fail=True)))
    result = stage.run(a_round("q", ["plain", "odd", " "]))
    assert kept(result) == [0, 1, 2]
    assert {(v.action, v.credibility) for v in result.verdicts} == {(Action.ABSTAIN, None)}
    assert [v.reason for v in result.verdicts] == ["llm_failed", "llm_failed", "no_words"]
    assert result.notes["llm_failures"] == 2


def test_a_likelihood_that_is_no_number_is_a_failure() -> None:
    class Odd(Scorer):
        def log_likelihood(self, prompt: str, continuations: Sequence[str]) -> NDArray[np.float64]:
            return np.array([-np.inf])

    result = PerplexityStage({"limit": 2.0}, Resources(llm=Odd())).run(a_round("q", ["plain"]))
    assert (kept(result), result.notes["llm_failures"]) == ([0], 1)


def test_what_it_needs() -> None:
    llm = ScriptedLLM()
    llm.capabilities = frozenset({Capability.CHAT})
    with pytest.raises(ConfigError, match="perplexity needs a language model with logprobs"):
        PerplexityStage({}, Resources(llm=llm))
