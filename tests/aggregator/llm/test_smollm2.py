from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from aggregator.llm import open_llm, smollm2
from aggregator.llm.smollm2 import SmolLM2, converted
from core.errors import LLMError
from core.llm import Message

pytestmark = pytest.mark.timeout(1200)  # the conversion reads 50,000 tokens twice


@pytest.fixture(scope="module")
def llm(session_cache: Path) -> SmolLM2:
    if not (session_cache / "models").exists():
        converted(session_cache)
    return SmolLM2(cache_dir=session_cache)


def test_it_answers_and_scores(llm: SmolLM2) -> None:
    messages = [
        Message("system", "Answer in a few words."),
        Message(
            "user",
            "Documents:\n[1] The capital of France is Paris.\n\nQuestion: What is the capital of France?",
        ),
    ]
    assert "Paris" in llm.complete(messages, max_tokens=12).text
    scores = llm.log_likelihood("The capital of France is", [" Paris", " London"])
    assert scores[0] > scores[1]
    prompt = "The capital of France is Paris. Bananas are yellow. What is the capital of France?"
    here, there = llm.attention_to(prompt, [(0, 31), (32, 51)])
    assert here > there


def test_converted_weights_are_made_once(
    llm: SmolLM2, session_cache: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def gone() -> Path:
        raise AssertionError("the package was read again")

    monkeypatch.setattr(smollm2, "gguf_path", gone)
    folder = converted(session_cache)
    assert {"model.safetensors", "tokenizer.json", "config.json"} <= {path.name for path in folder.iterdir()}
    assert [path.name for path in folder.parent.iterdir()] == [folder.name]


def test_other_weights_are_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    fake = tmp_path / smollm2.GGUF_FILE
    fake.write_bytes(b"GGUF of somebody else")
    monkeypatch.setattr(smollm2, "gguf_path", lambda: fake)
    with pytest.raises(LLMError, match="weights are not the published ones"):
        converted(tmp_path / "cache")


def test_half_a_folder_is_made_again(
    session_cache: Path, llm: SmolLM2, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A folder without weights is no converted model; it is the package that is asked for."""
    broken = tmp_path / "models" / converted(session_cache).name
    shutil.copytree(converted(session_cache), broken, ignore=shutil.ignore_patterns("*.safetensors"))
    monkeypatch.setattr(smollm2, "gguf_path", lambda: tmp_path / "missing")
    with pytest.raises(FileNotFoundError):
        converted(tmp_path)


def test_open_llm_gives_the_cache_folder(session_cache: Path, llm: SmolLM2) -> None:
    opened = open_llm("smollm2", {"threads": 2}, cache_dir=session_cache)
    assert isinstance(opened, SmolLM2)
    assert opened.identity == llm.identity
