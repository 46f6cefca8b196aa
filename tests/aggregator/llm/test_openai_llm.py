from __future__ import annotations

import threading
from collections.abc import Callable
from pathlib import Path

import pytest

from aggregator.llm import open_llm
from aggregator.llm.openai_llm import OpenAILLM
from core.errors import ConfigError, LLMError
from core.llm import Capability, Message
from tests.fake_llm_server import FakeServer, Reply, fake_llm_server

ASK = [Message("user", "who?")]


@pytest.fixture(autouse=True)
def _no_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    monkeypatch.delenv("OPENAI_BASE_URL", raising=False)


def client(server: FakeServer, **options: object) -> OpenAILLM:
    defaults: dict[str, object] = {"base_url": server.base_url, "backoff_s": 0.01, "timeout_s": 5.0}
    return OpenAILLM("fake", **{**defaults, **options})  # type: ignore[arg-type]


def test_answers_and_counts_tokens_and_cost() -> None:
    with fake_llm_server([Reply(text=" Paris ")]) as server:
        llm = client(server, price_in=1_000_000.0, price_out=2_000_000.0)
        done = llm.complete([Message("system", "s"), *ASK], max_tokens=7, temperature=0.5, seed=3)
    assert (done.text, done.prompt_tokens, done.completion_tokens, done.cached) == ("Paris", 10, 3, False)
    assert server.requests == [
        {
            "model": "fake",
            "messages": [{"role": "system", "content": "s"}, {"role": "user", "content": "who?"}],
            "max_tokens": 7,
            "temperature": 0.5,
            "seed": 3,
        }
    ]
    assert llm.counters.as_dict() == {
        "calls": 1,
        "cached": 0,
        "retries": 0,
        "failures": 0,
        "prompt_tokens": 10,
        "completion_tokens": 3,
        "cost": 16.0,
    }


@pytest.mark.parametrize(
    "bad",
    [
        Reply("status", status=429, headers={"Retry-After": "0"}),
        Reply("status", status=429),
        Reply("status", status=500),
        Reply("status", status=503, headers={"Retry-After": "Wed, 21 Oct 2026 07:28:00 GMT"}),
        Reply("slow", seconds=0.8),
        Reply("malformed"),
        Reply("no_choices"),
        Reply("not_json"),
        Reply("cut_json"),
        Reply("truncated"),
        Reply("closed"),
        Reply("empty"),
    ],
    ids=lambda reply: f"{reply.kind}{reply.status if reply.kind == 'status' else ''}",
)
def test_a_passing_trouble_is_retried_and_a_lasting_one_counted(bad: Reply, tmp_path: Path) -> None:
    with fake_llm_server([bad, bad, Reply(text="at last")]) as server:
        llm = client(server, timeout_s=0.3, retries=2)
        assert llm.complete(ASK).text == "at last"
        assert (llm.counters.calls, llm.counters.retries, llm.counters.failures) == (3, 2, 0)
    with fake_llm_server([bad] * 3) as server:
        llm = client(server, timeout_s=0.3, retries=1, cache_dir=tmp_path)
        with pytest.raises(LLMError, match=r"openai:fake: .* after 2 attempts"):
            llm.complete(ASK)
        assert (llm.counters.calls, llm.counters.retries, llm.counters.failures) == (2, 1, 1)


@pytest.mark.parametrize("status", [400, 401, 403, 404, 422])
def test_what_a_retry_cannot_help_fails_at_once(status: int) -> None:
    with fake_llm_server([Reply("status", status=status)]) as server:
        llm = client(server)
        with pytest.raises(LLMError, match=f"server answered {status}") as caught:
            llm.complete(ASK)
        assert "\n" not in str(caught.value)
        assert (len(server.requests), llm.counters.failures) == (1, 1)


def test_nobody_there_is_a_failure() -> None:
    llm = OpenAILLM("fake", base_url="http://127.0.0.1:1/v1", retries=1, backoff_s=0.01)
    with pytest.raises(LLMError, match="connection failed"):
        llm.complete(ASK)
    assert llm.counters.failures == 1


def test_the_pause_asked_for_is_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    pauses: list[float] = []
    monkeypatch.setattr("aggregator.llm.openai_llm.time.sleep", pauses.append)
    script = [
        Reply("status", status=429, headers={"Retry-After": "7"}),
        *[Reply("status", status=500)] * 3,
    ]
    with fake_llm_server(script) as server:
        client(server, backoff_s=1.0).complete(ASK)
    assert 7.0 <= pauses[0] <= 7.1
    assert all(2**n / 2 <= pause <= 2**n for n, pause in enumerate(pauses[1:], start=1))


def test_an_interrupted_run_goes_on_without_a_second_call() -> None:
    with fake_llm_server([Reply(text="one"), Reply(text="two")]) as server:
        first = client(server)
        assert first.complete(ASK).text == "one"
        assert first.complete(ASK, max_tokens=5).text == "two"  # another request
        second = client(server)
        again = second.complete(ASK)
        assert (again.text, again.prompt_tokens, again.cached) == ("one", 10, True)
        assert (second.counters.calls, second.counters.cached) == (0, 1)
        assert client(server, cache=False).complete(ASK).text == "fine"
        assert len(server.requests) == 3
    with fake_llm_server([Reply(text="other server")]) as other:
        assert client(other).complete(ASK).text == "other server"


def test_a_failure_is_not_cached() -> None:
    with fake_llm_server([Reply("empty")]) as server:
        llm = client(server, retries=0)
        with pytest.raises(LLMError, match="holds no text"):
            llm.complete(ASK)
        assert llm.complete(ASK).text == "fine"


def test_concurrency_is_limited() -> None:
    with fake_llm_server([Reply("slow", seconds=0.1)] * 6) as server:
        llm = client(server, concurrency=2)
        threads = [threading.Thread(target=llm.complete, args=([Message("user", str(i))],)) for i in range(6)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    assert server.most_at_once == 2
    assert llm.counters.calls == 6


def test_key_and_address_come_from_the_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    with fake_llm_server() as server:
        monkeypatch.setenv("OPENAI_BASE_URL", server.base_url)
        open_llm("openai:fake").complete(ASK)
        monkeypatch.setenv("MY_KEY", "s3cret")
        llm = open_llm("openai:fake", {"key_env": "MY_KEY", "cache": False})
        llm.complete(ASK)
    assert server.keys == ["Bearer none", "Bearer s3cret"]
    assert llm.capabilities == {Capability.CHAT}
    assert "s3cret" not in repr(vars(llm))


def test_no_key_for_the_default_server() -> None:
    with pytest.raises(ConfigError, match="set OPENAI_API_KEY"):
        OpenAILLM("gpt")


@pytest.mark.parametrize(
    ("options", "problem"),
    [
        ({"retries": -1}, "retries must be at least 0"),
        ({"concurrency": 0}, "concurrency must be at least 1"),
        ({"timeout_s": 0.0}, "timeout_s must be positive"),
    ],
)
def test_values_out_of_range(options: dict[str, object], problem: str) -> None:
    with pytest.raises(ConfigError, match=problem):
        OpenAILLM("gpt", base_url="http://127.0.0.1:1", **options)  # type: ignore[arg-type]


def test_a_bug_is_not_hidden(monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(request: dict[str, object]) -> Callable[[], None]:
        raise ZeroDivisionError

    with fake_llm_server() as server:
        llm = client(server)
        monkeypatch.setattr(llm, "_call", broken)
        with pytest.raises(ZeroDivisionError):
            llm.complete(ASK)
