"""Any server that speaks the OpenAI chat protocol: cloud, vLLM, Ollama, llama.cpp, and others."""

from __future__ import annotations

import logging
import os
import threading
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from aggregator.llm.cache import ResponseCache, request_key
from aggregator.llm.counters import Counters
from core.errors import ConfigError, LLMError, MissingPackageError
from core.llm import Capability, Completion, Message
from core.paths import cache_dir as resolve_cache
from core.seeding import generator

_log = logging.getLogger(__name__)
_MAX_WAIT_S = 60.0


class OpenAILLM:
    """A chat model behind HTTP, with retries, a concurrency limit and answers cached on disk.

    The cache is keyed by server, model and the whole request, so an interrupted run goes on without a
    second call. A failure raises `LLMError` after the retries and is counted in `counters`; an answer
    without text is a failure too. Safe for threads.

    Args:
        model: the server's name of the model.
        base_url: address of the API; None takes OPENAI_BASE_URL, else the library's default.
        key_env: environment variable that holds the key; a server given by address may need none.
        timeout_s: limit of one request, connection included.
        retries: further attempts after a timeout, lost connection, 408, 409, 429, 5xx or malformed answer.
        backoff_s: first pause between attempts; doubled each time, jittered, never above a minute.
        concurrency: requests in flight at a time.
        price_in, price_out: price of a million prompt and completion tokens, for `counters.cost`.
        cache: whether answers are kept on disk.
        cache_dir: where; None for the usual cache folder.
        seed: of the jitter.

    Raises:
        ConfigError: a value out of range, or the library's default server without a key.
        MissingPackageError: the package `openai` is not installed.
    """

    capabilities = frozenset({Capability.CHAT})

    def __init__(
        self,
        model: str,
        *,
        base_url: str | None = None,
        key_env: str = "OPENAI_API_KEY",
        timeout_s: float = 60.0,
        retries: int = 4,
        backoff_s: float = 0.5,
        concurrency: int = 4,
        price_in: float = 0.0,
        price_out: float = 0.0,
        cache: bool = True,
        cache_dir: str | Path | None = None,
        seed: int = 0,
    ) -> None:
        for name, value, least in (("retries", retries, 0), ("concurrency", concurrency, 1)):
            if value < least:
                raise ConfigError(f"llm 'openai': {name} must be at least {least}, not {value}")
        if timeout_s <= 0 or backoff_s < 0 or price_in < 0 or price_out < 0:
            raise ConfigError("llm 'openai': timeout_s must be positive; backoff_s and prices not negative")
        try:
            import openai
        except ModuleNotFoundError as error:
            raise MissingPackageError(
                "llm 'openai' needs the package 'openai': pip install 'securecollarag[llm]'"
            ) from error
        address = base_url or os.environ.get("OPENAI_BASE_URL")
        key = os.environ.get(key_env)
        if key is None and address is None:
            raise ConfigError(f"llm 'openai': set {key_env}, or name a server of your own with base_url")
        self.name = f"openai:{model}"
        self.model = model
        self.counters = Counters()
        self._address = address or "default"
        self._openai = openai
        self._client = openai.OpenAI(
            api_key=key or "none", base_url=address, timeout=timeout_s, max_retries=0
        )
        self._retries = retries
        self._backoff = backoff_s
        self._slots = threading.BoundedSemaphore(concurrency)
        self._prices = (price_in / 1e6, price_out / 1e6)
        self._jitter = generator(seed, "llm-jitter", model)
        self._jitter_lock = threading.Lock()
        self._cache = ResponseCache(resolve_cache(cache_dir) / "llm.sqlite") if cache else None

    @property
    def identity(self) -> str:
        """Server and model."""
        return f"{self._address}/{self.model}"

    def complete(
        self,
        messages: Sequence[Message],
        *,
        max_tokens: int = 128,
        temperature: float = 0.0,
        seed: int | None = None,
    ) -> Completion:
        """The model's next turn, from the cache where the same request was answered before.

        Raises:
            LLMError: refused by the server, or still failing after the retries.
        """
        request: dict[str, Any] = {
            "model": self.model,
            "messages": [{"role": m.role, "content": m.content} for m in messages],
            "max_tokens": max_tokens,
            "temperature": temperature,
        }
        if seed is not None:
            request["seed"] = seed
        key = request_key({"server": self._address, "request": request})
        if self._cache is not None and (known := self._cache.get(key)) is not None:
            self.counters.add(cached=1)
            return Completion(known["text"], known["prompt_tokens"], known["completion_tokens"], cached=True)
        with self._slots:
            done = self._attempt(lambda: self._call(request))
        self.counters.add(
            prompt_tokens=done.prompt_tokens,
            completion_tokens=done.completion_tokens,
            cost=done.prompt_tokens * self._prices[0] + done.completion_tokens * self._prices[1],
        )
        if self._cache is not None:
            self._cache.put(
                key,
                {
                    "text": done.text,
                    "prompt_tokens": done.prompt_tokens,
                    "completion_tokens": done.completion_tokens,
                },
            )
        return done

    def close(self) -> None:
        """Close connections and cache."""
        self._client.close()
        if self._cache is not None:
            self._cache.close()

    def _attempt(self, call: Callable[[], Completion]) -> Completion:
        attempt = 0
        while True:
            self.counters.add(calls=1)
            try:
                return call()
            except Exception as error:
                problem, again, wait = self._judge(error)
                if not again or attempt == self._retries:
                    self.counters.add(failures=1)
                    tries = f" after {attempt + 1} attempts" if attempt else ""
                    raise LLMError(f"{self.name}: {problem}{tries}") from error
                pause = self._pause(attempt, wait)
                _log.info("%s: %s; again in %.1f s", self.name, problem, pause)
                self.counters.add(retries=1)
                attempt += 1
                time.sleep(pause)

    def _pause(self, attempt: int, wait: float | None) -> float:
        """What the server asked for, else exponential; both jittered so that clients do not march in step."""
        with self._jitter_lock:
            draw = float(self._jitter.random())
        base = min(self._backoff * 2**attempt, _MAX_WAIT_S)
        return base * (0.5 + draw / 2) if wait is None else min(wait, _MAX_WAIT_S) + 0.1 * base * draw

    def _judge(self, error: Exception) -> tuple[str, bool, float | None]:
        """What went wrong in one line, whether another attempt can help, and the pause asked for."""
        lib = self._openai
        if isinstance(error, LLMError):
            return str(error), True, None
        if isinstance(error, lib.APITimeoutError):
            return "no answer in time", True, None
        if isinstance(error, lib.APIConnectionError):
            return f"connection failed ({error.__cause__ or error})", True, None
        if isinstance(error, lib.APIStatusError):
            again = error.status_code in (408, 409, 429) or error.status_code >= 500
            return f"server answered {error.status_code}: {error.message}"[:300], again, _retry_after(error)
        if isinstance(error, ValueError | KeyError | TypeError | lib.OpenAIError):
            return f"malformed answer ({type(error).__name__})", True, None
        raise error

    def _call(self, request: dict[str, Any]) -> Completion:
        answer = self._client.chat.completions.create(**request)
        choices = getattr(answer, "choices", None)
        message = getattr(choices[0], "message", None) if choices else None
        text = getattr(message, "content", None)
        if not isinstance(text, str) or not text.strip():
            reason = getattr(choices[0], "finish_reason", None) if choices else None
            raise LLMError("the answer holds no text" + (f" (finish reason {reason})" if reason else ""))
        usage = getattr(answer, "usage", None)
        return Completion(
            text.strip(),
            int(getattr(usage, "prompt_tokens", 0) or 0),
            int(getattr(usage, "completion_tokens", 0) or 0),
        )


def _retry_after(error: Any) -> float | None:
    """Seconds that the server asks to wait, where it says so in seconds."""
    value = error.response.headers.get("retry-after")
    try:
        return None if value is None else max(0.0, float(value))
    except ValueError:
        return None
