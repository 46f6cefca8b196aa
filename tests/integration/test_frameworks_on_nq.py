"""LangChain, LlamaIndex and Haystack ask a real federation over documents of nq, of which two sources lie.

Five `scr source serve` and one `scr aggregator serve` run as processes of their own. The lies are PoisonedRAG's
texts behind the question, as its black-box attack sends them.
"""

from __future__ import annotations

import asyncio
import json
import os
from collections.abc import Awaitable, Callable, Iterator, Sequence
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from aggregator.integrations.client import AggregatorClient
from core.cli import main
from sim.corpora import Question, load_corpus
from tests.aggregator.integrations.served import adapter, framework
from tests.zygote import Process, Zygote, wait_for

os.environ["HAYSTACK_TELEMETRY_ENABLED"] = "False"
NQ = Path(__file__).resolve().parents[3] / "shared" / "data" / "nq"
HONEST = ("north", "south", "east")
LIARS = ("west", "mill")
N_DOCUMENTS = 400
N_QUESTIONS = 8
N_CLEAN = 8  # questions without poison that come first: nobody is known to a new aggregator

pytestmark = [
    pytest.mark.slow,
    pytest.mark.timeout(900),
    pytest.mark.filterwarnings("ignore"),  # the frameworks' own
    pytest.mark.skipif(not (NQ / "poison.jsonl").is_file(), reason=f"needs the data set nq in {NQ}"),
]


@dataclass(frozen=True)
class Served:
    """Where the aggregator listens, and what is asked: question, and the text that answers it."""

    connection: dict[str, Any]
    questions: Sequence[Question]
    gold: dict[str, set[str]]


@dataclass(frozen=True)
class Found:
    """One document that a framework got: where it came from, and whether it was kept."""

    doc_id: str
    text: str
    kept: bool
    credibility: float | None

    @property
    def planted(self) -> bool:
        return self.doc_id.startswith("planted-")


@pytest.fixture(scope="module")
def served(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    root = tmp_path_factory.mktemp("nq")
    corpus = load_corpus(str(NQ))
    texts = corpus.texts()
    asked = [q for q in corpus.questions if q.query_id in corpus.poisons and corpus.qrels.get(q.query_id)]
    asked = asked[:N_QUESTIONS]
    clean = [q for q in corpus.questions if q.query_id not in corpus.poisons and corpus.qrels.get(q.query_id)]
    wanted = {d for q in (*asked, *clean[:N_CLEAN]) for d in corpus.qrels[q.query_id]}
    related = [d for d in corpus.documents if d.doc_id.split("-c")[0] in {q.query_id for q in asked}]
    chosen = [d for d in corpus.documents if d.doc_id in wanted]
    chosen += [d for d in related if d.doc_id not in wanted]
    taken = {d.doc_id for d in chosen}
    chosen += [d for d in corpus.documents if d.doc_id not in taken][: N_DOCUMENTS - len(chosen)]
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("SCR_CACHE", str(root / "cache"))
        with closing(Zygote(root / "processes")) as zygote:
            sources = []
            for i, name in enumerate((*HONEST, *LIARS)):
                rows = [
                    {"_id": d.doc_id, "title": d.title, "text": d.text}
                    for d in chosen[i :: len(HONEST) + len(LIARS)]
                ]
                if name in LIARS:
                    rows += [
                        {"_id": f"planted-{q.query_id}-{n}", "text": f"{q.text}. {lie}"}
                        for q in asked
                        for n, lie in enumerate(corpus.poisons[q.query_id].texts[:3])
                    ]
                (root / f"{name}.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
                ingest = ["source", "ingest", "--input", str(root / f"{name}.jsonl"), "--embedder", "none"]
                assert main([*ingest, "--store", str(root / name)]) == 0
                serve = [
                    "source",
                    "serve",
                    "--store",
                    root / name,
                    "--source-id",
                    name,
                    "--retriever",
                    "bm25",
                ]
                node = zygote.spawn(name, [*serve, "--listen", "127.0.0.1:0", "--insecure"])
                sources += ["--source", f"{name}={node.address()}"]
            how = ["--defense", "scr", "--top-k", "3", "--deadline", "60", "--listen", "127.0.0.1:0"]
            aggregator = zygote.spawn("aggregator", ["aggregator", "serve", *sources, *how, "--insecure"])
            wait_for(lambda: spoke(aggregator), "the aggregator has loaded its model", 600)
            connection = {"address": aggregator.address(), "insecure": True, "timeout": 300}
            with closing(AggregatorClient(connection)) as client:
                for question in clean[:N_CLEAN]:
                    client.ask(question.text)
            gold = {q.query_id: {texts[d] for d in corpus.qrels[q.query_id]} for q in asked}
            yield Served(connection, asked, gold)


def spoke(process: Process) -> bool:
    """Whether `process` printed its line, or ended."""
    return not process.alive or (process.out.exists() and "\n" in process.out.read_text())


def judge(served: Served, retrieve: Callable[[str], list[Found]]) -> None:
    """Planted documents arrive and are dropped, honest ones stay, all questions together.

    The first lies come from sources that nobody has caught yet: not every one of them is found.
    """
    found = [one for question in served.questions for one in retrieve(question.text)]
    planted = [one for one in found if one.planted]
    honest = [one for one in found if not one.planted]
    assert len(planted) >= N_QUESTIONS
    assert all(one.credibility is not None for one in found)
    assert sum(not one.kept for one in planted) >= 0.85 * len(planted)
    assert sum(one.kept for one in honest) >= 0.8 * len(honest)
    assert max(one.credibility or 0.0 for one in planted if not one.kept) < 0.5


def answered(served: Served, answer: Callable[[Question], str]) -> None:
    """`answer` gives what reached the reader: a text that holds gold and no lie, for nearly every question."""
    told = {question.query_id: answer(question) for question in served.questions}
    assert all(told.values())
    lies = sum(f"{question.text}. " in told[question.query_id] for question in served.questions)
    gold = sum(any(text in told[name] for text in texts) for name, texts in served.gold.items())
    assert lies <= 1
    assert gold >= N_QUESTIONS // 2


async def ticks_beside(waiting: Awaitable[Any]) -> tuple[Any, int]:
    """The result of `waiting`, and how often another task of the same loop had its turn meanwhile."""
    ticks = 0

    async def ticker() -> None:
        nonlocal ticks
        while True:
            ticks += 1
            await asyncio.sleep(0)

    task = asyncio.ensure_future(ticker())
    try:
        return await waiting, ticks
    finally:
        task.cancel()


def beside(waiting: Callable[[], Awaitable[Any]]) -> Any:
    """The result of `waiting()`, which must leave the loop to others: blocked, they get a turn or two."""

    async def both() -> tuple[Any, int]:
        result, ticks = await ticks_beside(waiting())
        return result, ticks

    result, ticks = asyncio.run(both())
    assert ticks > 50
    return result


def test_a_langchain_chain(served: Served) -> None:
    framework("langchain_core")
    from langchain_core.documents import Document
    from langchain_core.prompts import PromptTemplate
    from langchain_core.runnables import RunnableLambda, RunnablePassthrough

    from aggregator.readers import open_reader
    from core.embedding.hashing import HashingEmbedder
    from core.reader import ReadRequest
    from core.records import Candidate, DocumentKey

    scr = adapter("langchain")
    marked = scr.SecureCollaRetriever(connection=served.connection, keep_dropped=True)

    def found(one: Document) -> Found:
        given = one.metadata
        return Found(given["doc_id"], one.page_content, given["kept"], given["credibility"])

    judge(served, lambda text: [found(one) for one in marked.invoke(text)])

    retriever = scr.SecureCollaRetriever(connection=served.connection)
    joined = RunnableLambda(lambda documents: "\n".join(one.page_content for one in documents))
    prompt = PromptTemplate.from_template("{context}\n\n{question}")
    asking = {"context": retriever | joined, "question": RunnablePassthrough()}
    chain = asking | prompt | RunnableLambda(lambda value: value.to_string().rpartition("\n\n")[0])
    answered(served, lambda question: chain.invoke(question.text))

    reader = open_reader("extractive", HashingEmbedder())

    def read(given: dict[str, Any]) -> str:
        documents = tuple(
            Candidate(DocumentKey(d.metadata["source"], d.metadata["doc_id"]), d.page_content)
            for d in given["documents"]
        )
        return reader.read(ReadRequest(given["question"], documents)).text

    reading = {"documents": retriever, "question": RunnablePassthrough()} | RunnableLambda(read)
    assert beside(lambda: reading.ainvoke(served.questions[0].text))


def test_a_llamaindex_query_engine(served: Served) -> None:
    framework("llama_index.core")
    from llama_index.core.llms import MockLLM
    from llama_index.core.query_engine import RetrieverQueryEngine
    from llama_index.core.schema import NodeWithScore

    scr = adapter("llamaindex")
    marked = scr.SecureCollaRetriever(served.connection, keep_dropped=True)

    def found(one: NodeWithScore) -> Found:
        given = one.node.metadata
        return Found(given["doc_id"], one.node.get_content(), given["kept"], given["credibility"])

    judge(served, lambda text: [found(one) for one in marked.retrieve(text)])
    engine = RetrieverQueryEngine.from_args(scr.SecureCollaRetriever(served.connection, k=6), llm=MockLLM())
    answered(served, lambda question: str(engine.query(question.text)))  # the mock model repeats its prompt
    assert str(beside(lambda: engine.aquery(served.questions[0].text)))


def test_a_haystack_pipeline(served: Served) -> None:
    framework("haystack")
    from haystack import Document, Pipeline
    from haystack.components.builders import PromptBuilder
    from haystack.components.retrievers.in_memory import InMemoryBM25Retriever
    from haystack.document_stores.in_memory import InMemoryDocumentStore

    scr = adapter("haystack")

    def found(one: Document) -> Found:
        return Found(one.meta["doc_id"], one.content or "", one.meta["kept"], one.meta["credibility"])

    marked = scr.SecureCollaRetriever(served.connection, keep_dropped=True)
    judge(served, lambda text: [found(one) for one in marked.run(text)["documents"]])

    pipeline = Pipeline()
    pipeline.add_component("ask", scr.SecureCollaRetriever(served.connection))
    pipeline.add_component("prompt", PromptBuilder("{% for d in documents %}{{ d.content }}\n{% endfor %}"))
    pipeline.connect("ask.documents", "prompt.documents")

    def answer(question: Question) -> str:
        result = pipeline.run({"ask": {"query": question.text}}, include_outputs_from={"ask"})
        assert result["ask"]["answer"]
        return str(result["prompt"]["prompt"])

    answered(served, answer)
    first = served.questions[0].text
    assert beside(lambda: pipeline.run_async({"ask": {"query": first}}))["prompt"]["prompt"]

    # the other way: what Haystack itself retrieved from a pool that somebody filled, verified afterwards
    pool = InMemoryDocumentStore()
    seen = {
        (one.meta["source"], one.content): one
        for question in served.questions
        for one in marked.run(question.text)["documents"]
    }
    pool.write_documents(
        [Document(content=text, meta={"source": source, "doc_id": one.meta["doc_id"]})
         for (source, text), one in seen.items()]
    )  # fmt: skip
    checked = Pipeline()
    checked.add_component("search", InMemoryBM25Retriever(pool, top_k=10))
    checked.add_component("verify", scr.SecureCollaRanker(served.connection, keep_dropped=True))
    checked.connect("search.documents", "verify.documents")

    def verified(text: str) -> list[Found]:
        result = checked.run({"search": {"query": text}, "verify": {"query": text}})
        return [found(one) for one in result["verify"]["documents"]]

    judge(served, verified)
