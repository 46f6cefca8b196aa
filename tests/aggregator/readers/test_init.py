from __future__ import annotations

import pytest

from aggregator.readers import READERS, open_reader, share_options
from core.embedding.hashing import HashingEmbedder
from core.errors import ConfigError
from core.reader import Reader, ReadRequest
from core.records import Candidate, DocumentKey
from tests.fake_llm_server import fake_llm_server


def test_names() -> None:
    assert {"choice", "extractive", "openai", "smollm2", "transformers"} <= set(READERS)


def test_the_default_needs_no_language_model() -> None:
    reader = open_reader("extractive", HashingEmbedder(32))
    assert isinstance(reader, Reader)
    assert reader.name == "extractive"


@pytest.mark.parametrize(
    ("spec", "options", "problem"),
    [
        ("extractiv", {}, r"unknown reader 'extractiv' \(did you mean 'extractive'\?\)"),
        ("extractive", {}, "reader 'extractive' needs an embedder"),
        ("openai", {}, "must name its model"),
        ("choice:openai:m", {"base_url": "http://127.0.0.1:1/v1"}, "needs a language model with logprobs"),
    ],
)
def test_wrong_specs(spec: str, options: dict[str, object], problem: str) -> None:
    with pytest.raises(ConfigError, match=problem):
        open_reader(spec, None, options)


def test_what_a_reader_does_not_use_is_refused() -> None:
    with pytest.raises(ConfigError, match="takes no argument"):
        open_reader("extractive:x", HashingEmbedder(8))
    with pytest.raises(ConfigError, match="takes no llm options"):
        open_reader("extractive", HashingEmbedder(8), {"threads": 1})


def test_openai_end_to_end() -> None:
    with fake_llm_server(answer=lambda request: request["messages"][-1]["content"][-9:]) as server:
        reader = open_reader("openai:m", None, {"base_url": server.base_url})
        reading = reader.read(ReadRequest("capital?", (Candidate(DocumentKey("a", "1"), "Paris"),)))
    assert reading.text == "capital?"
    assert reader.name == "openai:m"


@pytest.mark.parametrize(
    ("reader", "llm", "shares"),
    [
        ("openai:m", "openai:m", (True, True)),
        ("openai:m", "smollm2", (True, False)),
        ("choice", "smollm2", (True, True)),  # the default back end
        ("choice:openai:m", "openai:m", (True, True)),
        ("openai:m", None, (True, False)),
        ("extractive", "openai:m", (False, True)),
        ("extractive", None, (True, False)),  # for nobody: the reader says so
    ],
)
def test_options_go_to_the_model_they_are_meant_for(
    reader: str, llm: str | None, shares: tuple[bool, bool]
) -> None:
    given = {"timeout_s": 3}
    assert tuple(bool(part) for part in share_options(reader, llm, given)) == shares
