"""A local transformers model: chat, log-likelihoods and attentions."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from aggregator.llm.counters import Counters
from aggregator.llm.local_model import PRECISIONS, LocalModel, load_local
from core.errors import ConfigError, LLMError
from core.llm import Capability, Completion, Message
from core.seeding import derive_seed

_ANSWER_TOKENS = 32  # of the answer whose attentions are read


class TransformersLLM:
    """A causal language model from a folder, hub id or GGUF file, run on this machine.

    One call runs at a time. Same prompt and settings, same answer. `counters` says what it cost.

    Args:
        model: folder, hub id, or path of a `.gguf` file.
        precision: `auto` (bfloat16 where the hardware is fast at it), `bfloat16` or `float32`.
        threads: torch threads during a call; None leaves the process's number.

    Raises:
        ConfigError: a wrong precision or number of threads.
    """

    capabilities = frozenset({Capability.CHAT, Capability.LOGPROBS, Capability.ATTENTION})

    def __init__(self, model: str, *, precision: str = "auto", threads: int | None = 1) -> None:
        if precision not in PRECISIONS:
            raise ConfigError(f"precision must be one of {', '.join(PRECISIONS)}, not {precision!r}")
        if threads is not None and threads < 1:
            raise ConfigError(f"threads must be at least 1, not {threads}")
        self.name = f"transformers:{model}"
        self.identity = f"{self.name}/{precision}"
        self.counters = Counters()
        self._source = model
        self._precision = precision
        self._threads = threads
        self._local: LocalModel | None = None
        self._lock = threading.RLock()

    def local(self) -> LocalModel:
        """The loaded model, for decoders that need its forward pass."""
        with self._lock:
            if self._local is None:
                self._local = self._open()
            return self._local

    def complete(
        self,
        messages: Sequence[Message],
        *,
        max_tokens: int = 128,
        temperature: float = 0.0,
        seed: int | None = None,
    ) -> Completion:
        """The model's next turn; greedy at temperature 0, otherwise drawn from `seed` (default 0).

        The tokens of all messages but the last are kept for the next call that begins with them.
        """

        def run(local: LocalModel) -> Completion:
            prefix, rest = self.render(messages)
            cache, logits = local.prefill(prefix, rest)
            pick = _picker(temperature, derive_seed(0 if seed is None else seed, "complete"))
            answer: list[int] = []
            while (token := pick(logits)) not in local.stop_ids:
                answer.append(token)
                if len(answer) == max_tokens:
                    break
                logits = local.forward([[token]], cache).logits[0, -1].float()
            text = local.tokenizer.decode(answer, skip_special_tokens=True).strip()
            return Completion(text, len(prefix) + len(rest), len(answer))

        return self._call(run)

    def log_likelihood(self, prompt: str, continuations: Sequence[str]) -> NDArray[np.float64]:
        """Mean log-probability per token of each continuation after `prompt`; (n,), each ≤ 0.

        The prompt is run once; all continuations share its keys and values in one further pass.
        """
        return self.log_likelihood_ids(self.encode(prompt), continuations)

    def encode(self, text: str) -> list[int]:
        """Tokens of `text`."""
        return self.local().encode(text)

    def log_likelihood_ids(self, prompt: Sequence[int], continuations: Sequence[str]) -> NDArray[np.float64]:
        """`log_likelihood` of a prompt that is already tokens (not empty)."""
        import torch

        def run(local: LocalModel) -> NDArray[np.float64]:
            options = [local.encode(text) for text in continuations]
            if not options or not all(options) or not prompt:
                raise LLMError("log-likelihood needs a prompt and continuations of at least one token each")
            cache, first = local.prefill((), prompt)
            scores = torch.log_softmax(first, -1)[[ids[0] for ids in options]].double()
            width = max(map(len, options)) - 1
            if width:
                cache.batch_repeat_interleave(len(options))
                padded = [ids[:-1] + [0] * (width + 1 - len(ids)) for ids in options]
                logits = torch.log_softmax(local.forward(padded, cache).logits.float(), -1)
                for row, ids in enumerate(options):
                    scores[row] += logits[row, range(len(ids) - 1), ids[1:]].double().sum()
            self.counters.add(prompt_tokens=len(prompt), completion_tokens=sum(map(len, options)))
            lengths = np.array([len(ids) for ids in options], dtype=np.float64)
            return np.asarray(scores.cpu().numpy() / lengths, dtype=np.float64)

        return self._call(run)

    def attention_to(self, prompt: str, spans: Sequence[tuple[int, int]]) -> NDArray[np.float64]:
        """Attention of the generated answer to each character span of `prompt`; (n,), sums to ≤ 1.

        The rows of the answer's tokens (up to the first newline, at most 32), averaged over tokens,
        layers and heads; a token counts for a span that holds its middle.
        """

        def run(local: LocalModel) -> NDArray[np.float64]:
            text = self._template(local, [Message("user", prompt)])
            offset = text.index(prompt)
            encoded = local.tokenizer(text, add_special_tokens=False, return_offsets_mapping=True)
            ids: list[int] = encoded.input_ids
            cache, logits = local.prefill((), ids)
            total = np.zeros(len(ids), dtype=np.float64)
            count = 0
            with _eager(local.model):
                while count < _ANSWER_TOKENS:
                    token = int(logits.argmax())
                    if token in local.stop_ids or (count and "\n" in local.tokenizer.decode([token])):
                        break
                    output = local.forward([[token]], cache, output_attentions=True)
                    rows = [layer[0, :, -1, : len(ids)].float().mean(0) for layer in output.attentions]
                    total += (sum(rows) / len(rows)).double().cpu().numpy()
                    logits = output.logits[0, -1].float()
                    count += 1
            if not count:
                raise LLMError(f"{self.name} gave no answer, so there is no attention to read")
            middles = np.array([(a + b) / 2 - offset for a, b in encoded.offset_mapping])
            inside = [(middles >= start) & (middles < end) for start, end in spans]
            return np.array([total[mask].sum() / count for mask in inside], dtype=np.float64)

        return self._call(run)

    @contextmanager
    def exclusive(self) -> Iterator[LocalModel]:
        """The loaded model for one caller, in inference mode with its threads; failures are counted."""
        local = self.local()
        with self._lock, local.session():
            try:
                yield local
            except LLMError:
                self.counters.add(failures=1)
                raise
            except RuntimeError as error:  # torch: out of memory and the like
                self.counters.add(failures=1)
                raise LLMError(f"{self.name}: {str(error).splitlines()[0]}") from error

    def _call(self, run: Callable[[LocalModel], Any]) -> Any:
        with self.exclusive() as local:
            result = run(local)
        done = isinstance(result, Completion)
        self.counters.add(
            calls=1,
            prompt_tokens=result.prompt_tokens if done else 0,
            completion_tokens=result.completion_tokens if done else 0,
        )
        return result

    def render(self, messages: Sequence[Message]) -> tuple[list[int], list[int]]:
        """Tokens of all messages but the last, and of the rest with the opening of the answer."""
        local = self.local()
        text = self._template(local, messages)
        head = self._template(local, messages[:-1], opening=False) if len(messages) > 1 else ""
        if not text.startswith(head):
            head = ""
        return local.encode(head) if head else [], local.encode(text[len(head) :])

    def _template(self, local: LocalModel, messages: Sequence[Message], opening: bool = True) -> str:
        turns = [{"role": m.role, "content": m.content} for m in messages]
        if getattr(local.tokenizer, "chat_template", None):
            text: str = local.tokenizer.apply_chat_template(
                turns, tokenize=False, add_generation_prompt=opening
            )
            return text
        return "\n\n".join(m.content for m in messages) + ("\n" if opening else "\n\n")

    def _open(self) -> LocalModel:
        path = Path(self._source)
        if path.suffix == ".gguf":
            return load_local(path.parent, path.name, self._precision, self._threads)
        return load_local(self._source, None, self._precision, self._threads)


def _picker(temperature: float, seed: int) -> Callable[[Any], int]:
    """How the next token is chosen from logits."""
    if temperature <= 0:
        return lambda logits: int(logits.argmax())
    import torch

    source = torch.Generator().manual_seed(seed)

    def draw(logits: Any) -> int:
        odds = torch.softmax(logits.cpu() / temperature, -1)
        return int(torch.multinomial(odds, 1, generator=source))

    return draw


class _eager:
    """Attention weights exist only in the eager implementation, which is slower: used where asked for."""

    def __init__(self, model: Any) -> None:
        self._model = model

    def __enter__(self) -> None:
        self._before = self._model.config._attn_implementation
        self._model.set_attn_implementation("eager")

    def __exit__(self, *error: object) -> None:
        self._model.set_attn_implementation(self._before)
