"""Next-token distributions of several prompts at once, for readers that decode by vote."""

from __future__ import annotations

import copy
from collections import OrderedDict
from collections.abc import Sequence
from typing import Any, Protocol, runtime_checkable

import numpy as np
from numpy.typing import NDArray

from aggregator.llm.transformers_llm import TransformersLLM
from core.errors import ConfigError
from core.llm import LLM, Message

_KEPT = 32  # prompts whose keys and values stay in memory


@runtime_checkable
class TokenModel(Protocol):
    """A language model one token at a time."""

    @property
    def end(self) -> int:
        """The token that ends an answer."""
        ...

    def next_token(self, prompts: Sequence[Sequence[Message]], answer: Sequence[int]) -> NDArray[np.float64]:
        """Probabilities of the token after each prompt and `answer`; (prompts, vocabulary), rows sum to 1."""
        ...

    def probability(self, prompt: Sequence[Message], text: str) -> float:
        """Probability that the answer to `prompt` begins with `text`."""
        ...

    def tokens(self, text: str) -> list[int]:
        """Tokens of `text`."""
        ...

    def text(self, tokens: Sequence[int]) -> str:
        """The text of `tokens`, ends trimmed."""
        ...


def token_model(llm: LLM, who: str) -> TokenModel:
    """A token model over `llm`, or `llm` itself where it is one.

    Raises:
        ConfigError: `llm` shows no next-token distributions (a model behind HTTP does not).
    """
    if isinstance(llm, TokenModel):
        return llm
    if isinstance(llm, TransformersLLM):
        return LocalTokenModel(llm)
    raise ConfigError(
        f"{who} decodes token by token, which needs a local model (smollm2 or transformers:PATH), "
        f"not {llm.name!r}"
    )


class LocalTokenModel:
    """A local transformers model, its keys and values kept per prompt between steps.

    A step on a prompt seen before runs only the tokens that are new, also where a search comes back
    to an earlier branch.
    """

    def __init__(self, llm: TransformersLLM) -> None:
        self._llm = llm
        self._states: OrderedDict[tuple[Message, ...], tuple[Any, NDArray[np.float64]]] = OrderedDict()

    @property
    def end(self) -> int:
        return min(self._llm.local().stop_ids)

    def next_token(self, prompts: Sequence[Sequence[Message]], answer: Sequence[int]) -> NDArray[np.float64]:
        return np.stack([self._step(tuple(prompt), answer) for prompt in prompts])

    def probability(self, prompt: Sequence[Message], text: str) -> float:
        ids = self.tokens(text)
        if not ids:
            return 1.0
        odds = [self._step(tuple(prompt), ids[:i])[token] for i, token in enumerate(ids)]
        return float(np.prod(odds))

    def tokens(self, text: str) -> list[int]:
        return self._llm.encode(text)

    def text(self, tokens: Sequence[int]) -> str:
        return str(self._llm.local().tokenizer.decode(list(tokens), skip_special_tokens=True)).strip()

    def _step(self, prompt: tuple[Message, ...], answer: Sequence[int]) -> NDArray[np.float64]:
        import torch

        llm, local = self._llm, self._llm.local()
        with llm.exclusive():
            if prompt not in self._states:
                cache, logits = local.prefill(*llm.render(prompt))
                llm.counters.add(calls=1, prompt_tokens=cache.get_seq_length())
                self._states[prompt] = (cache, torch.softmax(logits, -1).double().cpu().numpy())
                while len(self._states) > _KEPT:
                    self._states.popitem(last=False)
            self._states.move_to_end(prompt)
            cache, odds = self._states[prompt]
            if not answer:
                return odds
            branch = copy.deepcopy(cache)
            output = local.forward([list(answer)], branch, logits_to_keep=1)
            llm.counters.add(completion_tokens=1)
            return np.asarray(torch.softmax(output.logits[0, -1].float(), -1).double().cpu().numpy())
