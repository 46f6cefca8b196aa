from __future__ import annotations

import asyncio

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

framework("langchain_core")
scr = adapter("langchain")
pytestmark = pytest.mark.filterwarnings("ignore")


@pytest.fixture(scope="module")
def served():
    with federation() as running:
        yield running


def documents():
    from langchain_core.documents import Document

    return [
        Document(page_content=FORGED, metadata={"source": "x"}, id="1"),
        Document(page_content=SOUND, metadata={"source": "y", "page": 4}, id="2"),
    ]


def test_a_chain_answers_without_the_poison(served):
    from langchain_core.runnables import RunnableLambda

    retriever = scr.SecureCollaRetriever(connection=served[0])
    chain = retriever | RunnableLambda(lambda found: " ".join(one.page_content for one in found))
    for answer in (chain.invoke(QUESTION), asyncio.run(chain.ainvoke(QUESTION))):
        assert SOUND in answer
        assert FORGED not in answer


def test_the_retriever_limits_marks_and_keeps(served):
    found = scr.SecureCollaRetriever(connection=served[0], keep_dropped=True).invoke(QUESTION)
    assert {one.metadata["source"]: one.metadata["verdict"] for one in found} == {
        "sound": "keep", "forged": "drop", "gate": "keep",
    }  # fmt: skip
    assert all(0 <= one.metadata["credibility"] <= 1 for one in found)
    retriever = scr.SecureCollaRetriever(connection=served[0], k=1)
    assert len(retriever.invoke(QUESTION)) == 1
    assert len(retriever.invoke(QUESTION, k=2)) == 2


def test_the_compressor_verifies_what_was_found_elsewhere(served):
    compressor = scr.SecureCollaCompressor(connection=served[0])
    (kept,) = compressor.compress_documents(documents(), QUESTION)
    assert (kept.page_content, kept.id) == (SOUND, "2")
    assert kept.metadata == {
        "source": "y", "page": 4, "credibility": 0.9, "verdict": "keep", "reason": "poison: passed",
        "kept": True, "holders": ["y"],
    }  # fmt: skip
    assert asyncio.run(compressor.acompress_documents(documents(), QUESTION)) == [kept]
    marked = scr.SecureCollaCompressor(connection=served[0], keep_dropped=True)
    assert [one.metadata["kept"] for one in marked.compress_documents(documents(), QUESTION)] == [False, True]
    by_page = scr.SecureCollaCompressor(connection=served[0], source_key="page")
    with pytest.raises(DataError, match="'page'"):
        by_page.compress_documents(documents(), QUESTION)
    assert [one.metadata["source"] for one in by_page.compress_documents(documents()[1:], QUESTION)] == ["y"]


def test_async_does_not_block_the_loop(served):
    connection, gate = served
    found = without_blocking(scr.SecureCollaRetriever(connection=connection).ainvoke("wait: where?"), gate)
    assert MORE in {one.page_content for one in found}
