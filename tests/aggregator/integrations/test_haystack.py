from __future__ import annotations

import asyncio
import os

import pytest

from core.errors import DataError
from tests.aggregator.integrations.served import (
    FORGED,
    MORE,
    QUESTION,
    SOUND,
    adapter,
    federation,
    framework,
    without_blocking,
)

os.environ["HAYSTACK_TELEMETRY_ENABLED"] = "False"
framework("haystack")
scr = adapter("haystack")
pytestmark = pytest.mark.filterwarnings("ignore")


@pytest.fixture(scope="module")
def served():
    with federation() as running:
        yield running


def documents():
    from haystack import Document

    return [
        Document(content=MORE, meta={"source": "z"}),
        Document(content=FORGED, meta={"source": "x"}),
        Document(content=SOUND, meta={"source": "y", "page": 4}),
    ]


def test_a_pipeline_answers_without_the_poison_and_can_be_stored(served):
    from haystack import Pipeline
    from haystack.components.builders import PromptBuilder

    pipeline = Pipeline()
    pipeline.add_component("ask", scr.SecureCollaRetriever(served[0]))
    pipeline.add_component("prompt", PromptBuilder("{% for d in documents %}{{ d.content }} {% endfor %}"))
    pipeline.connect("ask.documents", "prompt.documents")
    stored = Pipeline.loads(pipeline.dumps(), allowed_modules=["aggregator.integrations.haystack"])
    for one in (pipeline, stored):
        prompt = one.run({"ask": {"query": QUESTION}})["prompt"]["prompt"]
        assert SOUND in prompt
        assert FORGED not in prompt


def test_the_retriever_gives_answer_and_marked_documents(served):
    found = scr.SecureCollaRetriever(served[0], keep_dropped=True).run(QUESTION)
    assert found["answer"]
    assert {one.meta["source"]: one.meta["verdict"] for one in found["documents"]} == {
        "sound": "keep", "forged": "drop", "gate": "keep",
    }  # fmt: skip
    assert len(scr.SecureCollaRetriever(served[0], top_k=1).run(QUESTION)["documents"]) == 1
    assert len(scr.SecureCollaRetriever(served[0]).run(QUESTION, top_k=1)["documents"]) == 1


def test_the_ranker_verifies_what_was_found_elsewhere(served):
    ranker = scr.SecureCollaRanker(served[0])
    kept = ranker.run(QUESTION, documents())["documents"]
    assert [one.content for one in kept] == [MORE, SOUND]
    assert kept[1].meta["page"] == 4
    assert (kept[1].meta["credibility"], kept[1].meta["verdict"]) == (0.9, "keep")
    again = asyncio.run(ranker.run_async(QUESTION, documents()))["documents"]
    assert [one.meta for one in again] == [one.meta for one in kept]
    marked = scr.SecureCollaRanker(served[0], keep_dropped=True).run(QUESTION, documents())["documents"]
    assert [one.meta["kept"] for one in marked] == [True, True, False]
    with pytest.raises(DataError, match="'page'"):
        scr.SecureCollaRanker(served[0], source_key="page").run(QUESTION, documents())


def test_components_come_back_from_their_dicts(served):
    for one in (
        scr.SecureCollaRetriever(served[0], top_k=3),
        scr.SecureCollaRanker(served[0], source_key="page"),
    ):
        stored = one.to_dict()
        assert type(one).from_dict(stored).to_dict() == stored


def test_async_does_not_block_the_loop(served):
    connection, gate = served
    found = without_blocking(scr.SecureCollaRetriever(connection).run_async("wait: where?"), gate)
    assert MORE in {one.content for one in found["documents"]}
