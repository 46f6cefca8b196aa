from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
import torch

from aggregator.llm import open_llm
from aggregator.llm.transformers_llm import TransformersLLM
from core.errors import ConfigError, LLMError
from core.llm import AttentionLLM, Capability, Message, ScoringLLM
from tests.aggregator.llm.tiny import make_tiny_llama

CHAT = [Message("system", "the answer is paris ."), Message("user", "the capital of france ?")]
PROMPT = "the capital of france is paris . question : the capital of france ? answer :"


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return make_tiny_llama(tmp_path_factory.mktemp("tiny"))


@pytest.fixture
def llm(folder: Path) -> TransformersLLM:
    return TransformersLLM(str(folder))


def bare_scores(folder: Path, prompt: str, continuation: str) -> float:
    """Mean log-probability by one plain pass without any cache."""
    from transformers import AutoModelForCausalLM, AutoTokenizer

    tokenizer = AutoTokenizer.from_pretrained(folder)
    model = AutoModelForCausalLM.from_pretrained(folder).eval()
    head = tokenizer(prompt, add_special_tokens=False).input_ids
    tail = tokenizer(continuation, add_special_tokens=False).input_ids
    with torch.no_grad():
        logits = torch.log_softmax(model(torch.tensor([head + tail])).logits[0], -1)
    return float(np.mean([logits[len(head) + i - 1, token] for i, token in enumerate(tail)]))


def test_it_is_a_scoring_and_attending_llm(llm: TransformersLLM) -> None:
    assert isinstance(llm, ScoringLLM)
    assert isinstance(llm, AttentionLLM)
    assert llm.capabilities == set(Capability)


def test_log_likelihood_equals_a_plain_pass(llm: TransformersLLM, folder: Path) -> None:
    options = [" paris", " london is the capital", " paris ."]
    scores = llm.log_likelihood(PROMPT, options)
    assert scores == pytest.approx([bare_scores(folder, PROMPT, option) for option in options], abs=1e-5)
    assert (scores <= 0).all()
    assert scores[0] == pytest.approx(llm.log_likelihood(PROMPT, options[:1])[0], abs=1e-5)


def test_log_likelihood_refuses_nothing_to_score(llm: TransformersLLM) -> None:
    for prompt, options in ((PROMPT, []), (PROMPT, ["paris", ""]), ("", ["paris"])):
        with pytest.raises(LLMError, match="needs a prompt and continuations"):
            llm.log_likelihood(prompt, options)
    assert llm.counters.failures == 3


def test_greedy_answers_equal_generate_and_repeat(llm: TransformersLLM, folder: Path) -> None:
    from transformers import AutoModelForCausalLM, AutoTokenizer

    tokenizer = AutoTokenizer.from_pretrained(folder)
    model = AutoModelForCausalLM.from_pretrained(folder).eval()
    text = tokenizer.apply_chat_template(
        [{"role": m.role, "content": m.content} for m in CHAT], tokenize=False, add_generation_prompt=True
    )
    ids = tokenizer(text, add_special_tokens=False, return_tensors="pt").input_ids
    wanted = model.generate(ids, max_new_tokens=8, do_sample=False, attention_mask=torch.ones_like(ids))
    expected = tokenizer.decode(wanted[0, ids.shape[1] :], skip_special_tokens=True).strip()
    first = llm.complete(CHAT, max_tokens=8)
    assert first.text == expected
    assert llm.complete(CHAT, max_tokens=8) == first
    assert first.prompt_tokens == ids.shape[1]
    assert first.completion_tokens <= 8


def test_the_prefix_is_computed_once_and_changes_nothing(
    llm: TransformersLLM, monkeypatch: pytest.MonkeyPatch
) -> None:
    local = llm.local()
    lengths: list[int] = []
    forward = local.forward
    monkeypatch.setattr(
        local, "forward", lambda rows, *a, **k: lengths.append(len(rows[0])) or forward(rows, *a, **k)
    )
    llm.complete(CHAT, max_tokens=1)
    first = list(lengths)
    lengths.clear()
    llm.complete([CHAT[0], Message("user", "london ?")], max_tokens=1)
    assert len(first) == 2
    assert len(lengths) == 1  # the system message was not run again
    assert TransformersLLM.complete(llm, CHAT, max_tokens=4) == llm.complete(CHAT, max_tokens=4)


def test_sampling_follows_its_seed(llm: TransformersLLM) -> None:
    def draw(seed: int) -> str:
        return llm.complete(CHAT, max_tokens=12, temperature=3.0, seed=seed).text

    assert draw(1) == draw(1)
    assert len({draw(seed) for seed in range(6)}) > 1


def test_attention_to_spans(llm: TransformersLLM) -> None:
    spans = [(0, 20), (20, len(PROMPT)), (0, len(PROMPT)), (3, 3)]
    shares = llm.attention_to(PROMPT, spans)
    assert shares.shape == (4,)
    assert (shares >= 0).all()
    assert 0 < shares[2] <= 1
    assert shares[0] + shares[1] == pytest.approx(shares[2])
    assert shares[3] == 0
    assert llm.local().model.config._attn_implementation != "eager"


def test_a_prompt_longer_than_the_context_is_a_failure(tmp_path: Path) -> None:
    llm = TransformersLLM(str(make_tiny_llama(tmp_path, context=16)))
    with pytest.raises(LLMError, match=r"prompt of 40 tokens is longer .*\(16\)"):
        llm.log_likelihood("the " * 40, [" paris"])
    assert llm.counters.failures == 1


def test_a_model_without_a_chat_template_completes_text(tmp_path: Path) -> None:
    llm = TransformersLLM(str(make_tiny_llama(tmp_path, chat=False)))
    assert llm.complete(CHAT, max_tokens=3).prompt_tokens == 10


def test_threads_are_given_back(llm: TransformersLLM) -> None:
    before = torch.get_num_threads()
    torch.set_num_threads(2)
    try:
        llm.log_likelihood(PROMPT, [" paris"])
        assert torch.get_num_threads() == 2
    finally:
        torch.set_num_threads(before)


def test_wrong_settings() -> None:
    with pytest.raises(ConfigError, match="precision must be one of"):
        TransformersLLM("x", precision="int3")
    with pytest.raises(ConfigError, match="threads must be at least 1"):
        TransformersLLM("x", threads=0)


def test_no_model_there(tmp_path: Path) -> None:
    llm = open_llm(f"transformers:{tmp_path}/nothing")
    with pytest.raises(LLMError, match="cannot load") as caught:
        llm.complete(CHAT)
    assert "\n" not in str(caught.value)
