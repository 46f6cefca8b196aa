from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pytest
from numpy.typing import NDArray

from core.errors import ConfigError
from core.llm import Capability
from core.stage import Hook, Resources
from defenses.attention_variance import AttentionVarianceStage
from tests.defenses.rounds import a_round, kept
from tests.scripted_llm import ScriptedLLM


class Gazer(ScriptedLLM):
    """Looks at `LOUD` words ten times as much as at others, and hardest at what stands last."""

    def attention_to(self, prompt: str, spans: Sequence[tuple[int, int]]) -> NDArray[np.float64]:
        super().attention_to(prompt, spans)
        raw = np.array([10.0 if prompt[a:b] == "LOUD" else 1.0 for a, b in spans])
        return raw / raw.sum()


QUIET = [f"calm text number {i}" for i in range(9)]


def run(texts: list[str], **options: object) -> list[int]:
    llm = Gazer()
    return kept(AttentionVarianceStage(options, Resources(llm=llm)).run(a_round("who", texts)))


def test_the_loud_passage_goes() -> None:
    assert run([*QUIET[:4], "LOUD text number LOUD", *QUIET[4:]]) == [0, 1, 2, 3, 5, 6, 7, 8, 9]


def test_even_attention_keeps_all() -> None:
    assert run(QUIET) == list(range(9))


def test_no_more_go_than_the_share_allows() -> None:
    loud = ["LOUD a b c", "LOUD d e f", *QUIET[:8]]
    assert len(run(loud, variance=0.1)) == 9
    assert run(loud, variance=0.1, share=0.2) == list(range(2, 10))
    assert len(run(loud, variance=0.0, share=1.0, most=3)) == 8  # equal scores have no variance
    assert run(["LOUD a", *QUIET[:4]]) == [0, 1, 2, 3, 4]  # a tenth of five is none


def test_only_the_largest_words_count() -> None:
    long = " ".join(["word"] * 60)
    assert run([long, *QUIET], top_words=4) == list(range(10))
    assert run([long, *QUIET], top_words=60) == list(range(1, 10))


def test_shares_are_the_evidence() -> None:
    result = AttentionVarianceStage({}, Resources(llm=Gazer())).run(a_round("who", [*QUIET, "LOUD b c d"]))
    shares = [verdict.evidence["attention_share"] for verdict in result.verdicts]
    assert shares[9] == pytest.approx(13 / 49)
    assert all(
        verdict.credibility == 1 - share for verdict, share in zip(result.verdicts, shares, strict=True)
    )
    assert sum(shares[:9]) == pytest.approx(1.0)


def test_passages_without_words_and_single_ones() -> None:
    assert run(["...", "!!", "??"]) == [0, 1, 2]
    assert run(["alone"]) == [0]
    assert run([]) == []


def test_what_it_needs() -> None:
    llm = ScriptedLLM()
    llm.capabilities = frozenset({Capability.CHAT})
    with pytest.raises(ConfigError, match="attention_variance needs a language model with attention"):
        AttentionVarianceStage({}, Resources(llm=llm))
    assert AttentionVarianceStage({}, Resources(llm=ScriptedLLM())).hook is Hook.PRE_GENERATION
