from __future__ import annotations

import numpy as np

from aggregator.llm.cache import ResponseCache
from core.llm import Capability, Completion, Message
from sim.sweep.metering import Meter, MeteredLLM


class Slow:
    """A server that takes its time, on a clock of its own."""

    name = "slow"
    identity = "slow/1"
    capabilities = frozenset({Capability.CHAT, Capability.LOGPROBS})

    def __init__(self):
        self.asked = 0

    def complete(self, messages, *, max_tokens=128, temperature=0.0, seed=None):
        self.asked += 1
        return Completion(f"{messages[-1].content}/{seed}", 3, 1)

    def log_likelihood(self, prompt, continuations):
        self.asked += 1
        return -np.arange(len(continuations), dtype=float)

    def special(self):
        return "handed through"


def test_an_answer_is_made_once_and_charged_each_time(tmp_path):
    inner, meter = Slow(), Meter()
    llm = MeteredLLM(inner, ResponseCache(tmp_path / "memory.sqlite"), meter)
    first = llm.complete([Message("user", "why")])
    calls, charged = meter.take()
    assert (calls, inner.asked) == (1, 1)
    again = MeteredLLM(Slow(), ResponseCache(tmp_path / "memory.sqlite"), meter)
    assert again.complete([Message("user", "why")]) == first
    assert again.inner.asked == 0
    assert meter.take()[0] == 1
    assert charged >= 0.0
    assert meter.take() == (0, 0.0)


def test_seeds_matter_only_where_something_is_drawn(tmp_path):
    inner = Slow()
    llm = MeteredLLM(inner, ResponseCache(None), Meter())
    for seed in (1, 2):
        llm.complete([Message("user", "why")], seed=seed)
    assert inner.asked == 1
    texts = {llm.complete([Message("user", "why")], temperature=1.0, seed=seed).text for seed in (1, 2)}
    assert len(texts) == 2


def test_scores_come_back_as_they_were(tmp_path):
    llm = MeteredLLM(Slow(), ResponseCache(None), Meter())
    for _ in range(2):
        assert llm.log_likelihood("p", ["a", "b"]).tolist() == [0.0, -1.0]
    assert llm.meter.calls == 2
    assert llm.inner.asked == 1
    assert llm.special() == "handed through"
    assert llm.capabilities == Slow.capabilities
