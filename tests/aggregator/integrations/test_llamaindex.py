from __future__ import annotations

import asyncio

import pytest

from core.errors import ConfigError, DataError
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

framework("llama_index.core")
scr = adapter("llamaindex")
pytestmark = pytest.mark.filterwarnings("ignore")


@pytest.fixture(scope="module")
def served():
    with federation() as running:
        yield running


def nodes():
    from llama_index.core.schema import NodeWithScore, TextNode

    return [
        NodeWithScore(node=TextNode(text=FORGED, metadata={"source": "x"}), score=0.8),
        NodeWithScore(node=TextNode(text=SOUND, metadata={"source": "y", "page": 4}), score=0.7),
    ]


def test_a_query_engine_answers_without_the_poison(served):
    from llama_index.core.llms import MockLLM
    from llama_index.core.query_engine import RetrieverQueryEngine

    engine = RetrieverQueryEngine.from_args(scr.SecureCollaRetriever(served[0]), llm=MockLLM())
    for answer in (engine.query(QUESTION), asyncio.run(engine.aquery(QUESTION))):
        assert SOUND in str(answer)  # the mock model repeats its prompt
        assert FORGED not in str(answer)
        assert "credibility" not in str(answer)


def test_the_retriever_limits_marks_and_scores(served):
    found = scr.SecureCollaRetriever(served[0], keep_dropped=True).retrieve(QUESTION)
    assert {one.node.metadata["source"]: one.node.metadata["verdict"] for one in found} == {
        "sound": "keep", "forged": "drop", "gate": "keep",
    }  # fmt: skip
    assert {one.score for one in found} == {0.9, 0.1}
    assert len(scr.SecureCollaRetriever(served[0], k=1).retrieve(QUESTION)) == 1


def test_the_postprocessor_verifies_what_was_found_elsewhere(served):
    post = scr.SecureCollaPostprocessor(connection=served[0])
    given = nodes()
    (kept,) = post.postprocess_nodes(given, query_str=QUESTION)
    assert (kept.node.get_content(), kept.score, kept.node.id_) == (SOUND, 0.7, given[1].node.id_)
    assert kept.node.metadata["page"] == 4
    assert (kept.node.metadata["credibility"], kept.node.metadata["verdict"]) == (0.9, "keep")
    assert "credibility" not in given[1].node.metadata
    (again,) = asyncio.run(post.apostprocess_nodes(nodes(), query_str=QUESTION))
    assert again.node.metadata == kept.node.metadata
    marked = scr.SecureCollaPostprocessor(connection=served[0], keep_dropped=True)
    assert [one.node.metadata["kept"] for one in marked.postprocess_nodes(nodes(), query_str=QUESTION)] == [
        False,
        True,
    ]
    with pytest.raises(ConfigError, match="query_str"):
        post.postprocess_nodes(nodes())
    with pytest.raises(DataError, match="'page'"):
        scr.SecureCollaPostprocessor(connection=served[0], source_key="page").postprocess_nodes(
            nodes(), query_str="q"
        )


def test_async_does_not_block_the_loop(served):
    connection, gate = served
    found = without_blocking(scr.SecureCollaRetriever(connection).aretrieve("wait: where?"), gate)
    assert MORE in {one.node.get_content() for one in found}
