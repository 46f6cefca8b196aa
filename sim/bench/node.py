"""An institution's node: serving beside the same search in process, ingest beside the bare embedder.

The node runs in a process of its own. Serving is measured on random unit vectors (the search does the
same work on any), ingest on real documents.
"""

from __future__ import annotations

import statistics
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from pathlib import Path

import numpy as np
from threadpoolctl import threadpool_limits

from core.embedding.base import Embedder
from core.embedding.cache import CachedEmbedder
from core.errors import ScrError
from core.records import Document, Query
from core.rpc import open_channel
from core.wire import from_retrieve_reply, to_retrieve_request
from protos.source_node_pb2_grpc import SourceNodeStub
from sim.bench.node_process import NodeProcess, RandomUnits
from sim.bench.result import BenchOptions, Result
from source_node.index import checked_vectors, searchable
from source_node.ingest import ingest
from source_node.node import SourceNode

SMALL = 100_000
LARGE = 1_000_000
REAL = 2_000
TOP_K = 5
CALLERS = 4
_QUESTIONS = [f"Question number {i} of the benchmark?" for i in range(200)]
_ROUNDS = 5  # of each side in turn
_ROUND_S = 3.0
_SEGMENTS = 4


def run(options: BenchOptions) -> list[Result]:
    """`node_throughput`, `node_p99_100k`, `node_p99_1m`, `node_memory_1m`, `ingest_throughput`.

    Throughput: four callers without a pause, requests whose vectors are cached; the baseline is
    `SourceNode.retrieve` called by as many threads, both in turn. p99: one caller. `repeats`: requests
    behind each p99.

    Raises:
        ScrError: the node did not start, or an answer is not the one that the search in process gives.
    """
    results = []
    with tempfile.TemporaryDirectory(prefix="scr-bench-") as folder:
        results += _small(Path(folder) / "small", options)
        results += _large(Path(folder) / "large", options)
        results.append(_ingest(Path(folder), options.size(REAL, 12)))
    return results


def _small(folder: Path, options: BenchOptions) -> list[Result]:
    size, rounds, seconds = options.size((SMALL, _ROUNDS, _ROUND_S), (300, 1, 0.2))
    _fill(folder, size, 80)
    with served(folder) as (node, ask):
        here = SourceNode.open(folder, "bench", CachedEmbedder(RandomUnits()))
        _warm_up(ask, here)
        remote: list[float] = []
        local: list[float] = []
        for _ in range(rounds):
            with threadpool_limits(1):  # as the node serves: a product for each caller on one core
                local.append(rate(lambda text: here.retrieve(Query(text), TOP_K), CALLERS, seconds))
            remote.append(rate(ask, CALLERS, seconds))
        p99 = percentile_ms(ask, options.times(500, 20))
        memory = node.memory_mb()
    fast, bare = statistics.median(remote), statistics.median(local)
    return [
        Result("node_throughput", round(fast, 1), "requests/s", round(bare, 1), round(fast / bare, 3)),
        Result(f"node_p99_{_short(size)}", round(p99, 1), "ms"),
        Result(f"node_memory_{_short(size)}", round(memory, 0), "MB"),
    ]


def _large(folder: Path, options: BenchOptions) -> list[Result]:
    started = time.perf_counter()
    size = options.size(LARGE, 400)
    _fill(folder, size, 40)
    filled = time.perf_counter() - started
    started = time.perf_counter()
    with served(folder) as (node, ask):
        opened = time.perf_counter() - started
        for text in _QUESTIONS[:20]:
            ask(text)
        p99 = percentile_ms(ask, options.times(200, 20))
        memory = node.memory_mb()
    return [
        Result(f"node_p99_{_short(size)}", round(p99, 1), "ms"),
        Result(f"node_memory_{_short(size)}", round(memory, 0), "MB"),
        Result(f"node_fill_{_short(size)}", round(filled, 1), "s"),
        Result(f"node_open_{_short(size)}", round(opened, 1), "s"),
    ]


def _ingest(folder: Path, count: int) -> Result:
    """Documents a second into a store beside the same texts through the embedder alone, in turn."""
    from core.embedding import open_embedder
    from sim.bench.data import corpora

    found = [document for corpus in corpora(("nq",), count) for document in corpus.documents][:count]
    documents = [Document(d.doc_id, d.text, d.title, d.category) for d in found]
    embedder = open_embedder(memory_only=True).inner
    checked_vectors(embedder, [searchable(document) for document in documents[:64]])  # loads the model
    ours = bare = 0.0
    for part in range(_SEGMENTS):
        segment = documents[part::_SEGMENTS]
        if part % 2:  # who comes first takes turns
            bare += _timed(partial(_bare, segment, embedder))
        ours += _timed(partial(_into, folder / f"ingest-{part}", segment, embedder))
        if not part % 2:
            bare += _timed(partial(_bare, segment, embedder))
    speeds = len(documents) / ours, len(documents) / bare
    return Result(
        "ingest_throughput", round(speeds[0], 1), "documents/s", round(speeds[1], 1), round(bare / ours, 3)
    )


def _short(count: int) -> str:
    """`100k` of 100,000, `1m` of 1,000,000."""
    for unit, size in (("m", 1_000_000), ("k", 1_000)):
        if count % size == 0:
            return f"{count // size}{unit}"
    return str(count)


def _into(folder: Path, documents: Sequence[Document], embedder: Embedder) -> None:
    report = ingest(documents, folder, embedder, embedder_name="minilm")
    if report.total != len(documents):
        raise ScrError(f"{report.total} documents of {len(documents)} were ingested")


def _bare(documents: Sequence[Document], embedder: Embedder) -> None:
    embedder.embed([searchable(document) for document in documents])


def _timed(step: Callable[[], object]) -> float:
    started = time.perf_counter()
    step()
    return time.perf_counter() - started


def _fill(folder: Path, count: int, words: int) -> None:
    """A store of `count` documents of `words` words with random vectors."""
    sys.stderr.write(f"a store of {count} documents is made\n")
    text = " ".join(["water"] * (words - 1))
    documents = (Document(f"document-{i:07d}", f"{i} {text}", f"title {i}") for i in range(count))
    ingest(documents, folder, RandomUnits(), embedder_name="random", batch=8_192)


@contextmanager
def served(folder: Path) -> Iterator[tuple[NodeProcess, Callable[[str], list[str]]]]:
    """The node over `folder` in a process of its own, and a function that asks it: the ids it gives."""
    with NodeProcess(folder) as node, open_channel(node.address) as channel:
        retrieve = SourceNodeStub(channel).Retrieve  # type: ignore[no-untyped-call]

        def ask(text: str) -> list[str]:
            reply = retrieve(to_retrieve_request(Query(text), TOP_K), timeout=60)
            return [document.doc_id for document in from_retrieve_reply(reply, "bench").documents]

        yield node, ask


def _warm_up(ask: Callable[[str], list[str]], here: SourceNode) -> None:
    for text in _QUESTIONS:
        wanted = [document.doc_id for document in here.retrieve(Query(text), TOP_K).documents]
        if ask(text) != wanted:
            raise ScrError("the node gives other documents than the search in process: a bug")


def rate(call: Callable[[str], object], callers: int, seconds: float) -> float:
    """Calls a second that `callers` threads make without a pause for `seconds`.

    Raises:
        ScrError: a call failed.
    """
    counts, failures = [0] * callers, []
    started = time.perf_counter()
    end = started + seconds

    def work(number: int) -> None:
        try:
            while time.perf_counter() < end:
                call(_QUESTIONS[(number + 7 * counts[number]) % len(_QUESTIONS)])
                counts[number] += 1
        except Exception as error:  # told by the thread that waits
            failures.append(error)

    threads = [threading.Thread(target=work, args=(number,)) for number in range(callers)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    if failures:
        raise ScrError(f"a call failed: {failures[0]}")
    return sum(counts) / (time.perf_counter() - started)


def percentile_ms(call: Callable[[str], object], repeats: int, percent: float = 99.0) -> float:
    """The `percent` percentile of the milliseconds of single calls, one after another."""
    times = []
    for number in range(repeats):
        started = time.perf_counter()
        call(_QUESTIONS[number % len(_QUESTIONS)])
        times.append(1000 * (time.perf_counter() - started))
    return float(np.percentile(times, percent))
