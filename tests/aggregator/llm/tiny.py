"""A random two-layer Llama with a word tokenizer, made in a second: real transformers code, no download."""

from __future__ import annotations

from pathlib import Path

VOCABULARY = "the capital of france is paris london answer question document system user ? : . <nl>".split()


def make_tiny_llama(folder: Path, *, chat: bool = True, context: int = 256) -> Path:
    """Save the model in `folder`; weights are the same on every call."""
    import torch
    from tokenizers import Tokenizer, models, pre_tokenizers
    from transformers import LlamaConfig, LlamaForCausalLM, PreTrainedTokenizerFast

    tokens = ["<unk>", "<end>", "<turn>", *VOCABULARY]
    inner = Tokenizer(models.WordLevel({token: i for i, token in enumerate(tokens)}, unk_token="<unk>"))
    inner.pre_tokenizer = pre_tokenizers.Whitespace()
    tokenizer = PreTrainedTokenizerFast(
        tokenizer_object=inner, unk_token="<unk>", eos_token="<end>", additional_special_tokens=["<turn>"]
    )
    if chat:
        tokenizer.chat_template = (
            "{% for m in messages %}<turn>{{ m['role'] }} {{ m['content'] }}<end>{% endfor %}"
            "{% if add_generation_prompt %}<turn>answer {% endif %}"
        )
    config = LlamaConfig(
        vocab_size=len(tokens),
        hidden_size=32,
        intermediate_size=64,
        num_hidden_layers=2,
        num_attention_heads=4,
        num_key_value_heads=2,
        max_position_embeddings=context,
        eos_token_id=1,
        bos_token_id=None,
        pad_token_id=1,
    )
    state = torch.random.get_rng_state()
    torch.manual_seed(0)
    model = LlamaForCausalLM(config)
    torch.random.set_rng_state(state)
    with torch.no_grad():
        for parameter in model.parameters():
            parameter.mul_(4.0)  # far from uniform, so that greedy answers are stable
    model.save_pretrained(folder)
    tokenizer.save_pretrained(folder)
    return folder
